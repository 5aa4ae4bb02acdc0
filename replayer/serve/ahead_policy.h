/* ahead_policy.h: how to answer requests for a version ahead of the replay's position; see ahead.h. */
#ifndef REPLAYER_AHEAD_POLICY_H
#define REPLAYER_AHEAD_POLICY_H

enum ahead_policy {
	AHEAD_REACHED, /* as the API server, if the replay will reach the version; else they have to list */
	AHEAD_SILENT,  /* as the API server, always */
	AHEAD_EXPIRED, /* they have to list again */
};

#endif
