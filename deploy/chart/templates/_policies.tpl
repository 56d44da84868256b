{{- /* The source of the volume with the policies. */ -}}
{{- define "plimsoll.policies" -}}
{{- with .Values.policies -}}
{{- if eq .from "configMaps" -}}
projected:
  sources:
  {{- range .configMaps }}
  - configMap:
      name: {{ .name }}
      {{- if .keys }}
      items:
      {{- $prefix := "" }}
      {{- if .group }}{{ $prefix = printf "%s/" .group }}{{ end }}
      {{- range .keys }}
      - {key: {{ . }}, path: {{ $prefix }}{{ . }}}
      {{- end }}
      {{- end }}
  {{- end }}
{{- else if eq .from "claim" -}}
persistentVolumeClaim:
  claimName: {{ .claim }}
  readOnly: true
{{- else if eq .from "image" -}}
image:
  {{- toYaml .image | nindent 2 }}
{{- else -}}
{{- toYaml .volume }}
{{- end }}
{{- end }}
{{- end }}
