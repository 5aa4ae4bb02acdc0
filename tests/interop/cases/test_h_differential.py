"""A replay answers as the live API server did: some thousand requests to both, at the same position."""

import os
import subprocess

from differential import accepted, run, scene
from lib import paths
from lib.case import Case, recorded


class AReplayBesideTheLiveServer(Case):

    def test_answers_all_requests_alike_but_for_the_accepted_differences(self):
        with scene.Scene(os.path.join(recorded().folder, "differential"), self.say) as both:
            asked, found, used = run.run(both, self.say)
            types = [self.types(kubeconfig) for kubeconfig in (both.cluster.kubeconfig, both.replay.kubeconfig)]
        self.assertNothing(found, "requests are answered otherwise than by the live server")
        self.assertGreater(asked, 2000)
        self.assertGreater(len(used), len(accepted.ACCEPTED) / 2, "most entries are still needed")

        self.assertGreater(len(types[0]), 500)
        self.assertEqual(*types)

    @staticmethod
    def types(kubeconfig):
        """All types as a client reads them that only knows OpenAPI version 2; of two the document of version 2 says more."""
        lines = subprocess.run([paths.program("schemas")], env={**os.environ, "KUBECONFIG": kubeconfig}, check=True,
            capture_output=True, text=True).stdout.splitlines()
        return [line for line in lines if not line.split()[0].endswith((".DeleteOptions", ".WatchEvent"))]

    @staticmethod
    def say(text):
        print(f"interop: {text}", flush=True)
