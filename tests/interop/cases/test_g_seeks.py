"""Seeks and loops: wherever a replay is moved to, the caches of client-go come to hold what the tape holds there."""

import os
import random
import threading

from lib import caches, replay, wait
from lib.case import Case

SEED = int(os.environ.get("KUBETAPE_SEED", "1"))


class ACacheOnAReplayThatIsMoved(Case):

    def start(self, name, *options, replay_options=(), **env):
        """A replay and caches of everything in it that changes; both end with the test."""
        folder = os.path.join(self.folder(), name)
        os.makedirs(folder)
        served = replay.Replay(self.all_tape, folder, "replay", "--wait-watchers", "0", *replay_options)
        self.addCleanup(served.__exit__)
        control = caches.Control(served.url)
        control("pause")
        followed = caches.Caches(served, caches.changing(self.all_events), folder, options, **env)
        self.addCleanup(followed.__exit__)
        return control, followed

    def states(self):
        return caches.states(self.all_events, caches.changing(self.all_events))

    def seek_often(self, control, followed, moves, dice):
        """Moves to positions chosen by dice, and checks the caches at each."""
        states = self.states()
        at = control("status")
        for _ in range(moves):
            seq = dice.randint(at["first_seq"], at["last_seq"])
            self.assertEqual(control("seek", to=f"seq:{seq}")["seq"], seq)
            followed.wait_for(states[seq])
            # From there it also has to go on as the tape does.
            at = control("step", count=dice.randint(1, 20))
            followed.wait_for(states[at["seq"]])

    def test_holds_the_state_at_each_position_however_it_lists_and_watches(self):
        for streaming in ("true", "false"):
            for one in ("", "1"):
                for page in ("0", "5") if streaming == "false" else ("0",):
                    with self.subTest(streaming=streaming, http1=one, page=page, seed=SEED):
                        control, followed = self.start(f"{streaming}{one}{page}", "-page", page,
                            KUBE_FEATURE_WatchListClient=streaming, DISABLE_HTTP2=one)
                        self.seek_often(control, followed, 20, random.Random(f"{SEED} {streaming} {one} {page}"))

    def test_holds_the_state_wherever_a_loop_is_paused(self):
        states = self.states()
        for streaming in ("true", "false"):
            with self.subTest(streaming=streaming, seed=SEED):
                control, followed = self.start(streaming, replay_options=("--loop", "--speed", "max"),
                    KUBE_FEATURE_WatchListClient=streaming)
                for _ in range(5):
                    before = control("resume")["seq"]
                    wait.until("another position", lambda: control("status")["seq"] != before, every_s=0.01)
                    followed.wait_for(states[control("pause")["seq"]])

    def test_of_a_shared_informer_holds_the_state_although_it_waits_long_before_it_lists_again(self):
        """Each move back makes it wait twice as long as the one before; so there are few, and all at the same time."""
        failed = []

        def follow(streaming, one):
            try:
                control, followed = self.start(f"{streaming}{one}", "-shared", KUBE_FEATURE_WatchListClient=streaming,
                    DISABLE_HTTP2=one)
                self.seek_often(control, followed, 5, random.Random(f"{SEED} {streaming} {one}"))
            except Exception as err:  # pylint: disable=broad-except
                failed.append(f"streaming {streaming}, http1 {one}, seed {SEED}: {err}")
        threads = [threading.Thread(target=follow, args=(streaming, one))
            for streaming in ("true", "false") for one in ("", "1")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])
