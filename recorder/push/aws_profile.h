/*
 * aws_profile.h: the files that the AWS tools keep settings in: ~/.aws/credentials with sections [NAME], and
 * ~/.aws/config with sections [profile NAME]; lines `name = value` below them.
 */
#ifndef RECORDER_PUSH_AWS_PROFILE_H
#define RECORDER_PUSH_AWS_PROFILE_H

#include "schema/base/buf.h"

/* Settings of one profile; NULL where neither file has it. */
struct aws_profile {
	char *name;
	bool found; /* a file has a section of it */
	char *key_id, *secret, *token, *region, *role, *token_file;
	char *endpoint;          /* its own, or that for s3 of the section [services NAME] that it names */
	char *services;          /* NAME */
	const char *unsupported; /* a setting that leads to credentials, and is not followed; NULL: none */
};

/* The profile of that name, else that of AWS_PROFILE, else `default`. What the file of credentials says counts before
 * what the other one says. ERR_NOT_FOUND for one that was named and is nowhere; ERR_IO for a file that is there and
 * cannot be read. The caller releases it in any case. */
int aws_profile_load(const char *name, struct aws_profile *ret, struct err *err) MUST_CHECK;
void aws_profile_release(struct aws_profile *p);

/* Takes what the text of one of the files says of ret->name, where ret has nothing yet. */
void aws_profile_read(struct slice text, bool is_config, struct aws_profile *ret);

#endif
