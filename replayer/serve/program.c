/* program.c: see program.h. */
#include "replayer/serve/program.h"

#include "schema/base/hash.h"

/* The first also waits for what it has deleted to be gone. */
static const char *const people[] = {"kubectl", "curl", "Wget", "Mozilla/5.0", NULL};

static bool begins_with_one_of(struct slice text, const char *const *words)
{
	for (; *words; words++) {
		if (slice_begins(text, *words))
			return true;
	}
	return false;
}

static struct slice agent_of(const struct api_call *call)
{
	return http_header_find(call->request, "User-Agent");
}

bool program_is_of_people(const struct api_call *call)
{
	return begins_with_one_of(agent_of(call), people);
}

uint64_t program_of(const struct api_call *call)
{
	struct slice agent = agent_of(call);

	if (begins_with_one_of(agent, people + 1))
		return 0;
	return agent.len ? hash_add(HASH_EMPTY, agent) | 1 : 0;
}

bool program_sees_absorbed(const struct api_call *call, const struct collection *c, uint64_t *ret_seq)
{
	const struct overlay_version *v =
		world_remembered(call->api->world, c, call->path.namespace, call->path.name);

	if (!v || !v->by || v->by != program_of(call))
		return false;
	if (v->type != EVENT_DELETED && program_is_of_people(call))
		return false;
	*ret_seq = v->type == EVENT_DELETED ? 0 : v->seq;
	return true;
}
