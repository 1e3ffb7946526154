# SPDX-License-Identifier: MIT
# fish completion of duet(1).  `duet list --complete WORDS` has the candidates, for all shells.

function __duet_candidates
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l last $words[-1]

    if test "$words[2]" = script; and contains -- "$last" -l -L
        $words[1] script -l "$word*" 2>/dev/null
    else
        # A quote that is open is no part of the word.
        $words[1] list --complete $words (string trim --left --chars "'\"" -- $word | string collect --allow-empty) 2>/dev/null
    end
end

# The command after -- is completed as a command.
function __duet_command
    __fish_complete_subcommand --fcs-skip=(contains -i -- -- (commandline -opc))
end

function __duet_has_command
    contains -- -- (commandline -opc)
end

# Files where duet has no candidate.
function __duet_expects_file
    not __duet_has_command; and test -z "$(__duet_candidates)"
end

complete -c duet -f
complete -c duet -n 'not __duet_has_command' -f -a '(__duet_candidates)'
complete -c duet -n __duet_has_command -a '(__duet_command)'
complete -c duet -n __duet_expects_file -F
