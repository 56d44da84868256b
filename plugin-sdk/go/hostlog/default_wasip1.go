package hostlog

import "log/slog"

func init() {
	slog.SetDefault(slog.New(Handler{}))
}
