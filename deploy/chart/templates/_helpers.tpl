{{- define "plimsoll.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "plimsoll.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains (include "plimsoll.name" .) .Release.Name }}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "plimsoll.name" .) | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "plimsoll.selector" -}}
app.kubernetes.io/name: {{ include "plimsoll.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "plimsoll.labels" -}}
{{ include "plimsoll.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "plimsoll.metadata" -}}
name: {{ include "plimsoll.fullname" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "plimsoll.labels" . | nindent 2 }}
{{- end }}

{{- define "plimsoll.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "plimsoll.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "plimsoll.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{- /* "true" where plimsoll has access to the API, else empty. */ -}}
{{- define "plimsoll.watches" -}}
{{- if eq .Values.mode "watch" }}true{{ end }}
{{- end }}

{{- /* "true" where plimsoll makes kube-scheduler try rejected pods again, else empty. */ -}}
{{- define "plimsoll.wakes" -}}
{{- if and (include "plimsoll.watches" .) .Values.wake.enabled }}true{{ end }}
{{- end }}

{{- /* "true" where plimsoll nominates pods for nodes that kube-scheduler did not offer, else empty. */ -}}
{{- define "plimsoll.nominates" -}}
{{- if and (include "plimsoll.watches" .) .Values.nominate.enabled }}true{{ end }}
{{- end }}

{{- /* "true" where plimsoll may bind, else empty. An open port and the right to bind do not go together. */ -}}
{{- define "plimsoll.binds" -}}
{{- if and .Values.bind.enabled (not (include "plimsoll.watches" .)) }}
{{- fail "bind.enabled is true, and with mode: fullNodes plimsoll cannot bind, because it has no access to the API: set mode: watch, or bind.enabled: false" }}
{{- end }}
{{- if and (include "plimsoll.watches" .) .Values.bind.enabled }}
{{- if not (or (and .Values.tls.clientCA.secret .Values.bind.clients) .Values.bind.withoutAuthentication) }}
{{- fail "bind.enabled is true, and nothing keeps others than kube-scheduler from placing pods: set tls.secret and tls.clientCA.secret, so that clients show a certificate, or bind.withoutAuthentication if everybody who reaches the extender port may place any pod on any node" }}
{{- end -}}
true
{{- end }}
{{- end }}

{{- /* "true" where a source of facts is a server, else empty. */ -}}
{{- define "plimsoll.fetches" -}}
{{- range .Values.facts.sources }}{{- if or .prometheus .http }}true{{ end }}{{- end }}
{{- end }}

{{- define "plimsoll.scheme" -}}
{{- if .Values.tls.secret }}https{{ else }}http{{ end }}
{{- end }}

{{- define "plimsoll.directory" -}}
{{- if .Values.policies.subDirectory }}/policies/{{ .Values.policies.subDirectory }}{{ else }}/policies{{ end }}
{{- end }}

{{- define "plimsoll.anywhere" -}}
{{- if .Values.ipv6 }}[::]{{ else }}0.0.0.0{{ end }}
{{- end }}

{{- /* The scheduler of plimsoll's own pods; empty: the cluster's. */ -}}
{{- define "plimsoll.schedulerName" -}}
{{- if eq .Values.schedulerName .Values.schedulers.second.name }}
{{- fail (printf "schedulerName is %s, the scheduler that asks plimsoll: without plimsoll it would not place plimsoll's pods. Leave schedulerName empty, or set schedulers.plain.enabled=true" .Values.schedulerName) }}
{{- end }}
{{- .Values.schedulerName | default (ternary .Values.schedulers.plain.name "" .Values.schedulers.plain.enabled) }}
{{- end }}

{{- /* The file of a scheduler of the chart; of the plain one without extenders. */ -}}
{{- define "plimsoll.schedulerConfig" -}}
{{- $values := .root.Values -}}
{{- $scheduler := get $values.schedulers .key -}}
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  resourceNamespace: {{ .root.Release.Namespace }}
  resourceName: {{ $scheduler.name }}
profiles:
- schedulerName: {{ $scheduler.name }}
{{- if $scheduler.extenders }}
extenders:
{{ toYaml $scheduler.extenders }}
{{- else if eq .key "second" }}
extenders:
- urlPrefix: {{ include "plimsoll.scheme" .root }}://{{ include "plimsoll.fullname" .root }}.{{ .root.Release.Namespace }}.svc:{{ $values.service.port }}
  filterVerb: filter
  preemptVerb: preempt
  prioritizeVerb: prioritize
  weight: 1
  {{- if include "plimsoll.binds" .root }}
  bindVerb: bind
  {{- end }}
  {{- if $values.tls.secret }}
  enableHTTPS: true
  tlsConfig:
    caFile: /tls/ca.crt
    {{- if $values.tls.clientCA.secret }}
    certFile: /tls/tls.crt
    keyFile: /tls/tls.key
    {{- end }}
  {{- end }}
  nodeCacheCapable: {{ eq $values.mode "watch" }}
  ignorable: false
  httpTimeout: 5s
{{- end }}
{{- end }}
