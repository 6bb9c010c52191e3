package manual

// Scripts are the completions of each shell. Each asks the program that is being typed: "processor completion SHELL --words -- WORDS…"
// prints a candidate a line, with its help, if any, behind a tab.
var Scripts = map[string]string{
	"bash": `# bash completion for processor
_processor() {
	local cur=${COMP_WORDS[COMP_CWORD]} value
	COMPREPLY=()
	while IFS=$'\t' read -r value _; do
		case $value in
		` + Files + `) compopt -o filenames; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur") ;;
		` + Directories + `) compopt -o filenames; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$cur") ;;
		*) COMPREPLY+=("$value") ;;
		esac
	done < <("${COMP_WORDS[0]}" completion bash --words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _processor processor
`,
	"zsh": `#compdef processor
# zsh completion for processor
_processor() {
	local line value
	local -a values
	for line in "${(@f)$("${words[1]}" completion zsh --words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
		value=${line%%$'\t'*}
		case $value in
		'') ;;
		` + Files + `) _files ;;
		` + Directories + `) _files -/ ;;
		"$line") values+=("${value//:/\\:}") ;;
		*) values+=("${value//:/\\:}:${line#*$'\t'}") ;;
		esac
	done
	if (( $#values )); then
		_describe -V processor values
	fi
}
if [ "$funcstack[1]" = _processor ]; then
	_processor "$@"
else
	compdef _processor processor
fi
`,
	"fish": `# fish completion for processor
function __processor_candidates
	set -l words (commandline -opc)
	for line in (command $words[1] completion fish --words -- $words[2..-1] (commandline -ct) 2>/dev/null)
		switch $line
			case ` + Files + `
				__fish_complete_path (commandline -ct)
			case ` + Directories + `
				__fish_complete_directories (commandline -ct)
			case '*'
				echo $line
		end
	end
end
complete -c processor -f -a '(__processor_candidates)'
`,
}
