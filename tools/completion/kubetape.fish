# fish completion of kubetape. The program knows what may come next (`kubetape __complete WORD...`); this only
# carries words there and candidates back.

function __kubetape_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l answer ($words[1] __complete $words[2..-1] 2>/dev/null)
    test (count $answer) -gt 0; or return
    if test "$answer[-1]" = ':0' # behind `--` stands another program's command line
        __fish_complete_path (commandline -ct)
    end
    set -e answer[-1]
    printf '%s\n' $answer
end

complete -c kubetape -f -a '(__kubetape_complete)'
complete -c kubectl-tape -f -a '(__kubetape_complete)'
