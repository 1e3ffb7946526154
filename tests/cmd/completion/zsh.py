# SPDX-License-Identifier: MIT
"""An interactive zsh in a terminal of its own, which is asked what it proposes for a line.

zsh completes only in its line editor.  compadd writes each match to a file; a last line says that all are there.
"""
import os
import pty
import shutil
import select
import subprocess

from trial import until, work

SETUP = r"""
PS1= PROMPT_EOL_MARK= ; unsetopt beep ; LISTMAX=9999999
fpath=(%(functions)s $fpath)
autoload -Uz compinit && compinit -u -D
compadd() {
	local -a hits
	# A call that fills arrays, as those of _files, adds no match.
	[[ ${@[1,(i)(-|--)]} == *-[a-zA-Z]#[OAD]\ * ]] || { builtin compadd -O hits "$@"; (( $#hits )) && print -rl -- $hits >>%(matches)s }
	builtin compadd "$@"
}
ask() {
	BUFFER=$(<%(line)s)
	CURSOR=$#BUFFER
	zle complete-word
	print -r -- "$ends" >>%(matches)s
	BUFFER=
}
ends=':end'
zle -C complete-word complete-word _main_complete
zle -N ask
bindkey '^X' ask
print -r -- ready >%(matches)s
"""


class Zsh:
    """Begin with `completion`, the file of the project; the first word of lines is a command in PATH."""

    def __init__(self, completion, environment):
        self.line, self.matches = work + "/zsh-line", work + "/zsh-matches"
        functions = work + "/zsh-functions"
        os.mkdir(functions)
        shutil.copy(completion, functions + "/_duet")
        with open(work + "/zsh-setup", "w") as f:
            f.write("setopt extended_glob\n" + SETUP % {"functions": functions, "matches": self.matches, "line": self.line})
        self.terminal, inner = pty.openpty()
        self.p = subprocess.Popen(["zsh", "-f", "-i"], stdin=inner, stdout=inner, stderr=inner, env=environment,
                                  start_new_session=True)
        os.close(inner)
        os.write(self.terminal, ("source %s/zsh-setup\n" % work).encode())
        self.wait("ready")

    def wait(self, last):
        """-> the lines before @last, once it is there"""
        def is_there():
            while select.select([self.terminal], [], [], 0)[0]:
                os.read(self.terminal, 65536)  # its output must not fill the terminal
            if not os.path.exists(self.matches):
                return False
            with open(self.matches) as f:
                return f.read().endswith(last + "\n")
        until(is_there, "zsh has answered")
        with open(self.matches) as f:
            return f.read().splitlines()[:-1]

    def proposed(self, line):
        """-> the proposals at the end of @line"""
        with open(self.line, "w") as f:
            f.write(line)
        with open(self.matches, "w"):
            pass
        os.write(self.terminal, b"\x18")
        return sorted(set(self.wait(":end")))

    def end(self):
        self.p.kill()
        self.p.wait()
        os.close(self.terminal)
