"""A replay answers as the live API server did: some thousand requests to both, at the same position."""

import os

from differential import accepted, run, scene
from lib.case import Case, recorded


class AReplayBesideTheLiveServer(Case):

	def test_answers_all_requests_alike_but_for_the_accepted_differences(self):
		with scene.Scene(os.path.join(recorded().folder, "differential"), self.say) as both:
			asked, found, used = run.run(both, self.say)
		self.assertNothing(found, "requests are answered otherwise than by the live server")
		self.assertGreater(asked, 2000)
		self.assertGreater(len(used), len(accepted.ACCEPTED) / 2, "most entries are still needed")

	@staticmethod
	def say(text):
		print(f"interop: {text}", flush=True)
