{{- /* What the container is started with. */ -}}
{{- define "plimsoll.args" -}}
- serve
- --policies={{ include "plimsoll.directory" . }}
- --listen={{ include "plimsoll.anywhere" . }}:8888
- --probes={{ include "plimsoll.anywhere" . }}:8890
- --compile-cache=/cache/compiled
- --compile-cache-size={{ include "plimsoll.cacheSize" . }}
- --request-timeout={{ .Values.requestTimeout }}
{{- if include "plimsoll.watches" . }}
- --body-limit=16Mi
- --wire-memory=128Mi
{{- else }}
- --body-limit=128Mi
- --wire-memory=384Mi
{{- end }}
- --require-sidecars
- --drain-timeout={{ .Values.drainSeconds }}s
- --log-format={{ .Values.logFormat }}
- --log={{ .Values.log }}
{{- with .Values.policies.poll }}
- --poll={{ . }}
{{- end }}
{{- if .Values.policies.allowDegraded }}
- --allow-degraded
{{- end }}
{{- if .Values.facts.sources }}
- --facts=/facts/facts.yaml
{{- end }}
{{- if .Values.tls.secret }}
- --tls-cert=/tls/tls.crt
- --tls-key=/tls/tls.key
{{- end }}
{{- if .Values.tls.clientCA.secret }}
- --tls-client-ca=/tls-client-ca/{{ .Values.tls.clientCA.key }}
{{- end }}
{{- if include "plimsoll.binds" . }}
- --lease-name={{ include "plimsoll.fullname" . }}
- --lease-namespace={{ .Release.Namespace }}
{{- if .Values.tls.clientCA.secret }}
- --bind-clients={{ join "," .Values.bind.clients }}
{{- end }}
{{- if .Values.bind.withoutAuthentication }}
- --bind-without-authentication
{{- end }}
{{- else if include "plimsoll.watches" . }}
- --no-bind
{{- end }}
{{- if include "plimsoll.wakes" . }}
- --wake-object={{ include "plimsoll.fullname" . }}-wake
{{- else if include "plimsoll.watches" . }}
- --no-wake
{{- end }}
{{- if and (include "plimsoll.watches" .) (not (include "plimsoll.nominates" .)) }}
- --no-nominate
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* A memory limit that is left empty has room for all bounds at once: docs/operations.md, "Memory", has the sum. */ -}}
{{- define "plimsoll.resources" -}}
{{- $resources := deepCopy .Values.resources -}}
{{- $limits := $resources.limits | default dict -}}
{{- if and (hasKey $limits "memory") (not $limits.memory) -}}
{{- $_ := set $limits "memory" (ternary "1536Mi" "2048Mi" (eq .Values.mode "watch")) -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end }}

{{- /* Three quarters of the volume, in bytes: who passes its limit is evicted. */ -}}
{{- define "plimsoll.cacheSize" -}}
{{- $size := .Values.cache.sizeLimit | toString -}}
{{- $unit := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 -}}
{{- $number := regexFind "^[0-9.]+" $size -}}
{{- mulf (float64 $number) (get $unit (trimPrefix $number $size) | float64) 0.75 | int64 -}}
{{- end }}

{{- /* Keeps the replicas apart. */ -}}
{{- define "plimsoll.spread" -}}
{{- if .Values.affinity -}}
affinity:
  {{- toYaml .Values.affinity | nindent 2 }}
{{- else if eq .Values.antiAffinity "required" -}}
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels:
          {{- include "plimsoll.selector" . | nindent 10 }}
{{- else if eq .Values.antiAffinity "preferred" -}}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- include "plimsoll.selector" . | nindent 12 }}
{{- end }}
{{- if .Values.spreadOver }}
topologySpreadConstraints:
- topologyKey: {{ .Values.spreadOver }}
  maxSkew: 1
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "plimsoll.selector" . | nindent 6 }}
{{- end }}
{{- end }}
