/* ahead_policy.h: what requests for a version ahead of the replay's position get; see ahead.h. */
#ifndef REPLAYER_AHEAD_POLICY_H
#define REPLAYER_AHEAD_POLICY_H

enum ahead_policy {
	AHEAD_REACHED, /* as the API server, where the replay will reach the version; else they are told to
			  list */
	AHEAD_SILENT,  /* as the API server, always */
	AHEAD_EXPIRED, /* they are told to list anew */
};

#endif
