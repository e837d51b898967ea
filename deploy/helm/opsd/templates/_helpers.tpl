{{/*
Prefix of all names. Short enough for the suffixes, such as -flow-control-dashboard. A Service needs a letter first and
has no dots. A name that was changed for that, or truncated, ends in its hash, so that no two releases share it.
*/}}
{{- define "opsd.fullname" -}}
{{- $name := .Release.Name -}}
{{- $own := default .Chart.Name .Values.nameOverride -}}
{{- if not (contains $own $name) }}{{ $name = printf "%s-%s" $name $own }}{{ end -}}
{{- $full := default $name .Values.fullnameOverride -}}
{{- $valid := replace "." "-" $full -}}
{{- if not (regexMatch "^[a-z]" $valid) }}{{ $valid = printf "opsd-%s" $valid }}{{ end -}}
{{- if or (ne $valid $full) (gt (len $valid) 40) -}}
{{- $valid = printf "%s-%s" ($valid | trunc 31 | trimSuffix "-") (sha256sum $full | trunc 8) -}}
{{- end -}}
{{- $valid -}}
{{- end }}

{{- define "opsd.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/*
Metadata of an object.
Arguments: root, and optionally name, suffix (of the default name), component, labels, and annotations.
*/}}
{{- define "opsd.metadata" -}}
{{- $root := .root -}}
name: {{ .name | default (list (include "opsd.fullname" $root) .suffix | compact | join "-") }}
namespace: {{ $root.Release.Namespace }}
labels:
  {{- include "opsd.selectorLabels" $root | nindent 2 }}
  {{- with .component }}
  app.kubernetes.io/component: {{ . }}
  {{- end }}
  app.kubernetes.io/part-of: msgsvc-opsd
  app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ $root.Release.Service }}
  helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
  {{- with merge (dict) (.labels | default dict) $root.Values.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (dict) (.annotations | default dict) $root.Values.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "opsd.replicas" -}}
{{- if kindIs "string" .Values.replicas }}{{ ternary 2 1 .Values.postgres.enabled }}{{ else }}{{ int .Values.replicas }}{{ end -}}
{{- end }}

{{- define "opsd.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}
{{- else }}{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end }}
{{- end }}
{{- end }}

{{- define "opsd.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}{{ default (include "opsd.fullname" .) .Values.serviceAccount.name }}
{{- else }}{{ default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* The Secrets to mount, as YAML: their folders below /run/secrets, names, and whether they are optional. */}}
{{- define "opsd.secrets" -}}
{{- $fullname := include "opsd.fullname" . -}}
{{- range $key := list "service" "hooks" "api" "notify" }}
{{- if or (ne $key "hooks") $.Values.hooks.enabled }}
{{- with index $.Values.secrets $key }}
- { key: {{ $key }}, name: {{ default (printf "%s-%s" $fullname $key) .name }}, optional: {{ .optional }} }
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.postgres.enabled }}
- { key: postgres, name: {{ default (printf "%s-postgres" $fullname) .Values.postgres.secretName }}, optional: false }
{{- end }}
{{- with .Values.webConfig }}
{{- if .enabled }}
- { key: web, name: {{ default (printf "%s-web" $fullname) .secretName }}, optional: false }
- { key: tls, name: {{ default (printf "%s-tls" $fullname) .tlsSecretName }}, optional: false }
{{- end }}
{{- end }}
{{- end }}

{{/* Files of the ConfigMap, as YAML: config.yaml, policies.yaml. Empty: there is no ConfigMap. */}}
{{- define "opsd.files" -}}
{{- with .Values.config }}
{{- $config := deepCopy . }}
{{- if not $.Values.hooks.enabled }}
{{- $_ := unset $config "hooks" }}
{{- end }}
{{- if $.Values.webConfig.enabled }}
{{- $default := dict "server" (dict "webConfigFile" "/run/secrets/opsd-web/web.yaml") }}
{{- $config = merge $config $default }}
{{- end }}
{{- if $.Values.postgres.enabled }}
{{- $default := dict "storage" (dict "postgres" (dict "urlFile" "/run/secrets/opsd-postgres/url")) }}
{{- $config = merge $config $default }}
{{- end }}
config.yaml: |
  {{- toYaml $config | nindent 2 }}
{{- end }}
{{- if or .Values.policies (and .Values.config (not .Values.configSources)) }}
policies.yaml: |
  {{- dict "policies" (.Values.policies | default list) | toYaml | nindent 2 }}
{{- end }}
{{- end }}
