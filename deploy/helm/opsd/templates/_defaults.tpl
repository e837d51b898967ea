{{/*
Replaces null by the default. Helm deletes such a key, in maps that the templates read. Each template includes this first,
because Helm renders them in any order, with the same values.
*/}}
{{- define "opsd.defaults" -}}
{{- include "opsd.fill" (dict "values" .Values "defaults" (.Files.Get "files/defaults.yaml" | fromYaml)) }}
{{- range $key, $value := .Values }}
{{- if ne $key "extraObjects" }}{{ include "opsd.prune" $value }}{{ end }}
{{- end }}
{{- end }}

{{- define "opsd.fill" -}}
{{- range $key, $default := .defaults }}
{{- $value := index $.values $key }}
{{- if kindIs "invalid" $value }}
{{- $_ := set $.values $key $default }}
{{- else if and (kindIs "map" $value) (kindIs "map" $default) }}
{{- include "opsd.fill" (dict "values" $value "defaults" $default) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Removes keys that are null and have no default. The daemon would reject them. */}}
{{- define "opsd.prune" -}}
{{- if kindIs "map" . }}
{{- range $key, $value := . }}
{{- if kindIs "invalid" $value }}{{ $_ := unset $ $key }}{{ else }}{{ include "opsd.prune" $value }}{{ end }}
{{- end }}
{{- else if kindIs "slice" . }}
{{- range . }}{{ include "opsd.prune" . }}{{ end }}
{{- end }}
{{- end }}
