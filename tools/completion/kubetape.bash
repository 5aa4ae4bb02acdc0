# bash completion of kubetape. The program knows what may come next (`kubetape __complete WORD...`); this only
# carries words there and candidates back.

_kubetape() {
	local rest=${COMP_LINE:0:COMP_POINT} front='' piece line program
	local -a words=() lines=()

	# Bash cuts words at = and :, the program wants them whole: join what no blank parts.
	for piece in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
		if [[ ${#words[@]} -eq 0 || $rest == [[:space:]]* ]]; then
			words+=('')
			front=
		else
			front=${words[-1]}
		fi
		rest=${rest#"${rest%%[![:space:]]*}"}
		[[ $rest == "$piece"* ]] || piece=$rest # the cursor is inside the word
		rest=${rest#"$piece"}
		words[-1]+=$piece
	done
	[[ $piece == [=:]* ]] && front=${words[-1]}

	program=${words[0]/#\~\//$HOME/}
	# What the user has quoted is meant without the quotes.
	mapfile -t lines < <("$program" __complete "${words[@]:1:${#words[@]}-2}" "${words[-1]//[\\\"\']/}" 2>/dev/null)
	[[ ${#lines[@]} -gt 0 ]] || return 0
	case ${lines[-1]} in
	:0) compopt -o bashdefault -o default ;; # behind `--` stands another program's command line
	:6) compopt -o nospace ;;
	esac
	unset 'lines[-1]'

	COMPREPLY=()
	for line in "${lines[@]}"; do
		line=${line%%$'\t'*}
		line=${line#"$front"}
		# Inside of quotes a candidate stands as it is; a leading ~ is for the shell.
		# shellcheck disable=SC2088
		case $piece in
		[\"\']*) ;;
		\~/*) printf -v line '~/%q' "${line#\~/}" ;;
		*) printf -v line %q "$line" ;;
		esac
		COMPREPLY+=("$line")
	done
}

complete -F _kubetape kubetape kubectl-tape
