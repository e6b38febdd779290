{{/* Checks that a JSON schema cannot express: values that contradict each other. */}}
{{- define "muster.checks" -}}
{{- if gt (mul 2 (int .Values.leadership.renewSeconds)) (int .Values.leadership.durationSeconds) }}
{{- fail "leadership.renewSeconds must be at most half of leadership.durationSeconds: a leader that misses one renewal would be replaced" }}
{{- end }}
{{- if gt (add 10 (int .Values.drainSeconds)) (int .Values.terminationGracePeriodSeconds) }}
{{- fail "drainSeconds plus 10 seconds for the last answers must not exceed terminationGracePeriodSeconds" }}
{{- end }}
{{- if gt (mul 2 (int .Values.certificates.leafDays)) (int .Values.certificates.authorityDays) }}
{{- fail "certificates.leafDays must be at most half of certificates.authorityDays, or the authority is renewed all the time" }}
{{- end }}
{{- if gt (add 30 (int .Values.leadership.durationSeconds) (int .Values.leave.waitSeconds)) (int .Values.leave.timeoutSeconds) }}
{{- fail "leave.waitSeconds plus leadership.durationSeconds plus 30 seconds to start must not exceed leave.timeoutSeconds" }}
{{- end }}
{{- if and .Values.priorityClassQuota.enabled (not .Values.priorityClassName) }}
{{- fail "priorityClassQuota.enabled requires a priorityClassName, which the quota is for" }}
{{- end }}
{{- if eq (int .Values.ports.admission) (int .Values.ports.health) }}
{{- fail "ports.health and ports.admission must differ" }}
{{- end }}
{{- end }}
