/*
 * kubeconfig_out.h: the kubeconfig that leads clients to a replay. JSON, which is YAML, too.
 */
#ifndef REPLAYER_KUBECONFIG_OUT_H
#define REPLAYER_KUBECONFIG_OUT_H

#include "schema/base/err.h"

/* Writes the file so that nobody ever sees a part of it. authority_pem NULL: plain HTTP, or no check. */
int kubeconfig_write(
	const char *path, const char *url, const char *authority_pem, struct err *err) MUST_CHECK;

#endif
