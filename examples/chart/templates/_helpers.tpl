{{- define "forewarn.labels" -}}
app.kubernetes.io/name: forewarn
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "forewarn.image" -}}
{{ required "image.repository is needed: build the image of this repository (make image), push it, and name it here" .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
