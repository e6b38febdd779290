{{/* The settings file. Tests check it with `muster config check`. */}}
{{- define "muster.settings" -}}
apiVersion: muster.dev/v1alpha1
kind: MusterConfiguration
apiGroup: {{ .Values.apiGroup }}
defaultPolicy: {{ .Values.defaultPolicy }}
basicForOthers: {{ .Values.basicForOthers }}
releaseOnSuspend: {{ .Values.releaseOnSuspend }}
scope: {{ .Values.scope }}
elastic: {{ .Values.elastic }}
excludedNamespaces: {{ toJson .Values.excludedNamespaces }}
schedulerNames: {{ toJson .Values.schedulerNames }}
workers: {{ int .Values.workers }}
resyncSeconds: {{ .Values.resyncSeconds }}
probeSeconds: {{ .Values.probeSeconds }}
serving:
  address: 0.0.0.0
  port: {{ int .Values.ports.admission }}
  healthPort: {{ int .Values.ports.health }}
  drainSeconds: {{ .Values.drainSeconds }}
{{- if .Values.serving.clientCA.configMap }}
  clientCA: /etc/muster/client-ca/ca.crt
{{- end }}
service:
  name: muster
  namespace: {{ .Release.Namespace }}
  port: 443
certificates:
{{- if eq .Values.certificates.provider "cert-manager" }}
  mode: files
  directory: /etc/muster/certificates
{{- else }}
  mode: self-managed
  secretName: muster-certificates
  authorityDays: {{ int .Values.certificates.authorityDays }}
  leafDays: {{ int .Values.certificates.leafDays }}
{{- end }}
webhooks:
{{- range $name := list "pods" "parallelismGuard" "podGroups" "intents" }}
{{- $webhook := index $.Values.webhooks $name }}
  {{ $name }}:
{{- if $webhook.failurePolicy }}
    failurePolicy: {{ $webhook.failurePolicy }}
{{- end }}
    timeoutSeconds: {{ int $webhook.timeoutSeconds }}
    namespaceSelector: {{ toJson ($webhook.namespaceSelector | default $.Values.namespaceSelector) }}
    objectSelector: {{ toJson $webhook.objectSelector }}
{{- end }}
leadership:
  enabled: {{ .Values.leadership.enabled }}
  leaseName: muster
  durationSeconds: {{ int .Values.leadership.durationSeconds }}
  renewSeconds: {{ int .Values.leadership.renewSeconds }}
logging:
  level: {{ .Values.logging.level }}
  format: {{ .Values.logging.format }}
{{- end }}
