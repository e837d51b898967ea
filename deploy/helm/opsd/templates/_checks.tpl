{{/* Fails on values that are valid one by one, and contradict each other or would expose a secret. */}}
{{- define "opsd.checks" -}}
{{- $config := .Values.config | default dict -}}
{{- if not (or .Values.config .Values.configSources) }}
{{- fail "config is null, and configSources is empty: set one of them" }}
{{- end }}
{{- if and .Values.config (not $config.accounts) }}
{{- fail "config.accounts is null: set the accounts of your service" }}
{{- end }}

{{- /* The ports of the pod and its Services are fixed. */}}
{{- range $path, $port := dict "server.listen" "10777" "server.probes.listen" "10779" "hooks.listen" "10778" }}
{{- $address := $config }}
{{- range splitList "." $path }}{{ $address = get ($address | default dict) . }}{{ end }}
{{- if and $address (not (regexMatch (printf "^(0\\.0\\.0\\.0|\\[::\\])?:%s$" $port) $address)) }}
{{- fail (printf "config.%s is %q: the pod and its Services use port %s of all addresses; set it to \":%s\"" $path $address $port $port) }}
{{- end }}
{{- end }}
{{- $sqlite := (($config.storage | default dict).sqlite | default dict) }}
{{- if and $sqlite.path (not (hasPrefix "/var/lib/opsd/" $sqlite.path)) }}
{{- fail (printf "config.storage.sqlite.path is %q: only /var/lib/opsd keeps its files; remove the key" $sqlite.path) }}
{{- end }}
{{- if and .Values.postgres.enabled $sqlite }}
{{- fail "postgres.enabled is true, and config.storage.sqlite is set: remove it" }}
{{- end }}
{{- range .Values.env }}
{{- if has .name (list "OPSD_CONFIG" "OPSD_LISTEN" "OPSD_PROBES_LISTEN" "OPSD_STORE") }}
{{- fail (printf "env sets %s: the image sets it, and the ports and volumes of the pod depend on it" .name) }}
{{- end }}
{{- end }}

{{- with .Values.hooks }}
{{- if and .enabled $.Values.config (not ($config.hooks | default dict).listen) }}
{{- fail "hooks.enabled is true, and config.hooks.listen is not set: set it to \":10778\", or set hooks.enabled to false" }}
{{- end }}
{{- if and .ingress.enabled (not .enabled) }}
{{- fail "hooks.ingress.enabled is true, and hooks.enabled is false: the Ingress leads to the hooks" }}
{{- end }}
{{- if and .ingress.enabled (not .ingress.host) }}
{{- fail "hooks.ingress.host is empty: set the host name of the Ingress" }}
{{- end }}
{{- end }}

{{- /* Policies that no file name matches would be ignored. */}}
{{- if and .Values.config .Values.policies }}
{{- $isNamed := false }}
{{- range $config.policyFiles }}
{{- $pattern := . | trimPrefix "/etc/opsd/" | trimPrefix "./" | replace "." "\\." | replace "*" ".*" | printf "^%s$" }}
{{- if regexMatch $pattern "policies.yaml" }}{{ $isNamed = true }}{{ end }}
{{- end }}
{{- if not $isNamed }}
{{- fail "policies are set, and config.policyFiles does not name policies.yaml: they would be ignored" }}
{{- end }}
{{- end }}

{{- with .Values.monitor }}
{{- $start := toDate "2006-01-02" "2000-01-01" }}
{{- if gt (dateModify .scrapeTimeout $start | unixEpoch | int) (dateModify .interval $start | unixEpoch | int) }}
{{- fail (printf "monitor.scrapeTimeout is %s, longer than monitor.interval, %s: the operator would ignore the monitor" .scrapeTimeout .interval) }}
{{- end }}
{{- end }}
{{- if and .Values.dashboards.enabled (eq .Values.dashboards.provisioner "grafana-operator") (not .Values.dashboards.grafanaOperator.instanceSelector) }}
{{- fail "dashboards.grafanaOperator.instanceSelector is empty: set the labels of your Grafana, such as matchLabels: { dashboards: grafana }" }}
{{- end }}
{{- range $key := list "labels" "podLabels" }}
{{- range $label := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" "app.kubernetes.io/part-of" }}
{{- if hasKey (index $.Values $key) $label }}
{{- fail (printf "%s sets %s: the chart sets this label, and selectors use it" $key $label) }}
{{- end }}
{{- end }}
{{- end }}
{{- include "opsd.checkSecrets" (dict "at" "config" "value" $config) }}
{{- end }}

{{/*
Fails on a credential in the configuration: every reader of the ConfigMap could read it.
Arguments: at (path of the value), value.
*/}}
{{- define "opsd.checkSecrets" -}}
{{- $at := .at -}}
{{- if kindIs "map" .value }}
{{- range $key, $value := .value }}
{{- $isSecret := or (has $key (list "token" "actionToken" "password" "signingKeys")) (and (eq $key "url") (or (hasSuffix ".webhook" $at) (hasSuffix ".postgres" $at))) }}
{{- if not (kindIs "string" $value) }}
{{- include "opsd.checkSecrets" (dict "at" (printf "%s.%s" $at $key) "value" $value) }}
{{- else if and $isSecret (not (regexMatch "^\\$\\{env:\\w+\\}$" $value)) }}
{{- fail (printf "%s.%s is a secret, and a ConfigMap is not: put it in a Secret, and use %sFile or ${env:NAME}" $at $key $key) }}
{{- end }}
{{- end }}
{{- else if kindIs "slice" .value }}
{{- range $index, $value := .value }}
{{- include "opsd.checkSecrets" (dict "at" (printf "%s[%d]" $at $index) "value" $value) }}
{{- end }}
{{- end }}
{{- end }}
