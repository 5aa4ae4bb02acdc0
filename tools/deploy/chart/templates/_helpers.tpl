{{- /* Of a Service, too: letters, digits and dashes, with a letter in front; a release may have dots, and begin with a digit. */}}
{{- define "kubetape.name" -}}
{{- $name := ternary .Release.Name (printf "%s-kubetape" .Release.Name) (contains "kubetape" .Release.Name) | replace "." "-" }}
{{- regexMatch "^[a-z]" $name | ternary $name (printf "k-%s" $name) | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "kubetape.selector" -}}
app.kubernetes.io/name: kubetape
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kubetape.labels" -}}
{{ include "kubetape.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- /* Of what belongs to no namespace: a second release of that name may be in another one. */}}
{{- define "kubetape.clusterName" -}}
{{ printf "%s-%s" .Release.Namespace (include "kubetape.name" .) }}
{{- end }}

{{- /* Not empty if Secrets are among these names of resources. */}}
{{- define "kubetape.namesSecrets" -}}
{{- range . }}{{ if regexMatch "^(?i:secrets?)([.](v1[.]?)?)?$" . }}yes{{ end }}{{ end }}
{{- end }}

{{- /* What is left out, as JSON: what the user says, else Secrets unless they are asked for. */}}
{{- define "kubetape.exclude" -}}
{{- $default := ternary list (list "secrets") (or .Values.record.everything (include "kubetape.namesSecrets" .Values.record.resources | empty | not)) -}}
{{- toJson (kindIs "slice" .Values.record.exclude | ternary .Values.record.exclude $default | compact) -}}
{{- end }}

{{- /* A number of a values file is a float to Helm, which prints large ones with an exponent. */}}
{{- define "kubetape.amount" -}}
{{- if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}
