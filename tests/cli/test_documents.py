"""The documents' examples on bundled tapes, typed as they stand: each prints what its page shows."""
import glob
import os
import re
import subprocess
import unittest

from tapes import BUILD

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = ["README.md", *sorted(glob.glob("docs/*.md", root_dir=ROOT))]


def examples(text):
    """(command, lines of output) of each command after a `$` in a block of code."""
    for block in re.findall(r"^ *```[^\n]*\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^ *\$ ", block, flags=re.MULTILINE)[1:]:
            command, *output = part.splitlines()
            while command.count('"') % 2 and output:
                command += "\n" + output.pop(0)
            yield command, output


def pattern(output):
    """A line `...` stands for any lines."""
    lines = [r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + " *\n" for line in output]
    return re.compile("".join(lines))


class Documents(unittest.TestCase):
    def check(self, command, output):
        env = {**os.environ, "PATH": BUILD + os.pathsep + os.environ["PATH"]}
        done = subprocess.run(["bash", "-c", command], cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        self.assertRegex(done.stdout, pattern(output))

    def test_every_example_on_a_bundled_tape_prints_what_its_page_shows(self):
        count = 0
        for page in PAGES:
            with open(os.path.join(ROOT, page), encoding="utf-8") as f:
                found = list(examples(f.read()))
            for command, output in found:
                if "tests/tapes/" in command and " replay " not in command and output:
                    with self.subTest(page=page, command=command):
                        self.check(command, output)
                        count += 1
        self.assertGreater(count, 3)


if __name__ == "__main__":
    unittest.main()
