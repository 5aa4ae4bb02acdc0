"""Tapes changed at random: every reader ends in good order, within bounds, whatever it finds.

KUBETAPE_MUTANTS (default 40) is how many tapes, KUBETAPE_SEED (default 1) which ones; `make mutants` takes many.
"""
import os
import random
import shutil
import unittest

import bounded
import mutants
from tapes import TapeTest

COUNT = int(os.environ.get("KUBETAPE_MUTANTS", "40"))
SEED = int(os.environ.get("KUBETAPE_SEED", "1"))
READERS = int(os.environ.get("KUBETAPE_MUTANT_READERS", "4"))  # of each tape, by chance


class Mutants(TapeTest):
    def check(self, number):
        folder = os.path.join(self.dir, str(number))
        os.mkdir(folder)
        tape = os.path.join(folder, "x.tape")
        mutant = mutants.Mutant(SEED, number, tape)
        commands = bounded.readers(tape, folder) + bounded.rarer_readers(tape, folder)
        for command in random.Random(f"{SEED}/{number}").sample(commands, min(READERS, len(commands))):
            done = bounded.Run(command)
            self.assertIsNone(done.problem, f"mutants.py {SEED} {number} x.tape: {command}: {mutant.what}")
        shutil.rmtree(folder)

    def test_every_reader_of_a_changed_tape_ends_in_good_order(self):
        for number in range(COUNT):
            with self.subTest(number=number):
                self.check(number)


if __name__ == "__main__":
    unittest.main()
