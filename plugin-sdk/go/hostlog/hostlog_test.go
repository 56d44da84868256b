package hostlog

import (
	"log/slog"
	"strings"
	"testing"
)

func TestAttributesAndGroupsAreOnTheLine(t *testing.T) {
	var line strings.Builder
	handler := Handler{}.WithAttrs([]slog.Attr{slog.Int("a", 1)}).WithGroup("g").(Handler)
	handler.write(&line, handler.group, slog.Group("inner", slog.String("b", "x"), slog.Bool("c", true)))
	if own := handler.given + line.String(); own != " a=1 g.inner.b=x g.inner.c=true" {
		t.Errorf("%q", own)
	}
}
