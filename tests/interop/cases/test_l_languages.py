"""Clients in other languages on replays of the bundled tape that end their watches, break them, expire their history
and are moved; `make clients` tries more of them."""

import concurrent.futures
import os

from lib import languages
from lib.case import Case


class AClientInAnotherLanguage(Case):
    # Python and JavaScript are told whole tapes in test_c_informers.
    CHECKS = {"kubernetes_asyncio 36": ("whole", "ends", "breaks", "expires", "seeks")}

    def trials(self):
        for client in languages.QUICK:
            if client.made == "javascript" and not os.path.exists(languages.JAVASCRIPT_IS_THERE):
                continue
            for check in self.CHECKS.get(client.name, ("breaks", "expires", "seeks")):
                yield client, check

    def test_comes_to_hold_what_the_tape_holds_whatever_becomes_of_its_watches(self):
        """All at the same time: they are mostly waiting."""
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            running = {(client.name, check): pool.submit(getattr(client.trial(self.folder(), check == "ends"), check))
                for client, check in self.trials()}
        for (name, check), one in running.items():
            with self.subTest(client=name, check=check):
                one.result()
