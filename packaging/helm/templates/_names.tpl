{{- define "worldkeep.name" -}}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{- end }}
{{- define "worldkeep.labels" -}}
app.kubernetes.io/name: worldkeep
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
