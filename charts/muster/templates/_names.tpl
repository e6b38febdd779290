{{/* There is one Muster per cluster, so names do not depend on the release. */}}
{{- define "muster.selector" -}}
app.kubernetes.io/name: muster
app.kubernetes.io/component: operator
{{- end }}

{{- define "muster.labels" -}}
app.kubernetes.io/name: muster
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Without the chart's version: a new chart with unchanged pods must not restart them. */}}
{{- define "muster.podLabels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: muster
app.kubernetes.io/component: {{ index . 1 }}
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Labels, annotations and more of an object: (list $ name namespaced extraLabels extraAnnotations) */}}
{{- define "muster.metadata" -}}
{{- $root := index . 0 -}}
name: {{ index . 1 }}
{{- if eq (index . 2) "namespaced" }}
namespace: {{ $root.Release.Namespace }}
{{- end }}
labels:
  {{- include "muster.labels" $root | nindent 2 }}
  {{- with index . 3 }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (dict) (index . 4) $root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "muster.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* What Pod Security `restricted` requires of a pod and of a container. */}}
{{- define "muster.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "muster.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "muster.servingSecret" -}}muster-serving{{- end }}
