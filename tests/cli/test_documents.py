"""The documents' examples on bundled tapes, typed as they stand: each prints what its page shows. Of all other commands
that documents name, the options exist."""
import glob
import os
import re
import shlex
import subprocess
import unittest

from tapes import BUILD, KUBETAPE

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = ["README.md", *sorted(glob.glob("docs/*.md", root_dir=ROOT))]
OTHER_PAGES = ["schema/sql/COOKBOOK.md", "replayer/fault/FAULTS.md", "replayer/write/WRITES.md", "replayer/TESTING.md", "replayer/view/VIEW.md",
               "tools/tee/TEE.md", "tools/deploy/README.md", "tests/scenarios/README.md"]


def read(page):
    with open(os.path.join(ROOT, page), encoding="utf-8") as f:
        return f.read()


def examples(text):
    """(command, lines of output) of each command after a `$` in a block of code."""
    for block in re.findall(r"^ *```[^\n]*\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^ *\$ ", block, flags=re.MULTILINE)[1:]:
            command, *output = part.splitlines()
            while command.count('"') % 2 and output:
                command += "\n" + output.pop(0)
            yield command, output


def commands(text):
    """The words of every command of kubetape, up to what the shell or a child would take."""
    text = re.sub(r"\\\n\s*", " ", text)
    found = re.findall(r"`(?:build/)?kubetape ([a-z][^`\n]*)`", text)
    for block in re.findall(r"```[^\n]*\n(.*?)```", text, re.DOTALL):
        found += re.findall(r"^\s*(?:\$ )?(?:build/)?kubetape ([a-z][\w-]* [^\n]*)", block, re.MULTILINE)
    for line in found:
        line = re.split(r" -- | [|>&#]|;|\.\.\.|\u2026", line)[0]
        yield shlex.split(line + '"' * (line.count('"') % 2))  # SQL may go on in the next line


def pattern(output):
    """A line `...` stands for any lines."""
    lines = [r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + " *\n" for line in output]
    return re.compile("".join(lines))


class Documents(unittest.TestCase):
    def check(self, command, output):
        env = {**os.environ, "PATH": BUILD + os.pathsep + os.environ["PATH"]}
        done = subprocess.run(["bash", "-c", command.replace("build/kubetape ", "kubetape ")], cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        self.assertRegex(done.stdout, pattern(output))

    def test_every_example_on_a_bundled_tape_prints_what_its_page_shows(self):
        count = 0
        for page in PAGES:
            for command, output in examples(read(page)):
                if "tests/tapes/" in command and " replay " not in command and output:
                    with self.subTest(page=page, command=command):
                        self.check(command, output)
                        count += 1
        self.assertGreater(count, 3)

    def test_every_command_that_a_page_names_has_the_options_that_it_names(self):
        count = 0
        for page in [*PAGES, *OTHER_PAGES]:
            for words in commands(read(page)):
                if words[0].endswith(":") or any(re.fullmatch(r"--[\w-]+=\w+(\|\w+)+", word) for word in words):
                    continue  # what a command says, and options with all their choices
                done = subprocess.run([KUBETAPE, *words, "--help"], capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""), f"{page}: kubetape {shlex.join(words)}")
                count += 1
        self.assertGreater(count, 100)


if __name__ == "__main__":
    unittest.main()
