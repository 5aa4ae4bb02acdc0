/* authority.c: see authority.h. */
#include "replayer/wire/authority.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define VALID_BACK_S  3600L               /* clocks of client machines may be behind */
#define VALID_AHEAD_S (10L * 365 * 86400) /* longer than anything that is made for an occasion */

struct authority {
	EVP_PKEY *key;
	X509 *certificate;
	char *pem, *server_name;
};

int authority_fail(struct err *err, const char *what)
{
	char text[256] = "no reason given";
	unsigned long code = ERR_get_error();

	if (code)
		ERR_error_string_n(code, text, sizeof(text));
	return err_set(err, ERR_FAILED, "cannot %s: %s", what, text);
}

/* ---- certificates ---- */

static bool set_serial(X509 *cert)
{
	unsigned char bytes[16];
	BIGNUM *number = NULL;
	bool ok = RAND_bytes(bytes, sizeof(bytes)) == 1;

	bytes[0] &= 0x7f;
	number = ok ? BN_bin2bn(bytes, sizeof(bytes), NULL) : NULL;
	ok = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));
	BN_free(number);
	return ok;
}

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;
	bool ok;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	ok = extension && X509_add_ext(cert, extension, -1);
	X509_EXTENSION_free(extension);
	return ok;
}

/* A certificate without extensions; NULL when something failed. issuer NULL: its own. */
static X509 *new_certificate(const char *name, EVP_PKEY *key, X509 *issuer)
{
	X509 *cert = X509_new();
	X509_NAME *subject = cert ? X509_get_subject_name(cert) : NULL;
	bool ok = subject && X509_set_version(cert, 2) && set_serial(cert) &&
		  X509_gmtime_adj(X509_getm_notBefore(cert), -VALID_BACK_S) &&
		  X509_gmtime_adj(X509_getm_notAfter(cert), VALID_AHEAD_S) && X509_set_pubkey(cert, key) &&
		  X509_NAME_add_entry_by_txt(
			  subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0) &&
		  X509_set_issuer_name(cert, issuer ? X509_get_subject_name(issuer) : subject);

	if (ok)
		return cert;
	X509_free(cert);
	return NULL;
}

static X509 *make_root(const char *name, EVP_PKEY *key)
{
	X509 *cert = new_certificate(name, key, NULL);
	bool ok = cert && add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE") &&
		  add_extension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign") &&
		  add_extension(cert, cert, NID_subject_key_identifier, "hash") &&
		  X509_sign(cert, key, EVP_sha256());

	if (ok)
		return cert;
	X509_free(cert);
	return NULL;
}

/* Clients look at the alternative names only, and want an address there as an address. */
static char *alternative_names(const char *host)
{
	unsigned char address[16];
	bool is_address =
		host && (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1);
	bool any = !host || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;

	return xasprintf("DNS:localhost,IP:127.0.0.1,IP:::1%s%s",
		any          ? ""
		: is_address ? ",IP:"
			     : ",DNS:",
		any ? "" : host);
}

static X509 *make_server_certificate(const struct authority *a, const char *host, EVP_PKEY *key)
{
	X509 *cert = new_certificate(a->server_name, key, a->certificate);
	char *names = alternative_names(host);
	bool ok = cert && add_extension(cert, a->certificate, NID_basic_constraints, "critical,CA:FALSE") &&
		  add_extension(cert, a->certificate, NID_key_usage, "critical,digitalSignature") &&
		  add_extension(cert, a->certificate, NID_ext_key_usage, "serverAuth") &&
		  add_extension(cert, a->certificate, NID_subject_alt_name, names) &&
		  X509_sign(cert, a->key, EVP_sha256());

	free(names);
	if (ok)
		return cert;
	X509_free(cert);
	return NULL;
}

static char *to_pem(X509 *cert)
{
	BIO *memory = BIO_new(BIO_s_mem());
	char *bytes, *text = NULL;
	long len;

	if (memory && PEM_write_bio_X509(memory, cert)) {
		len = BIO_get_mem_data(memory, &bytes);
		text = slice_dup((struct slice){bytes, (size_t)len});
	}
	BIO_free(memory);
	return text;
}

/* ---- the authority ---- */

static struct authority *new_authority(const char *name)
{
	struct authority *a = xcalloc(1, sizeof(*a));

	a->server_name = xasprintf("%s server", name);
	return a;
}

void authority_free(struct authority *a)
{
	if (!a)
		return;
	X509_free(a->certificate);
	EVP_PKEY_free(a->key);
	free(a->pem);
	free(a->server_name);
	free(a);
}

int authority_new(const char *name, struct authority **ret, struct err *err)
{
	struct authority *a = new_authority(name);

	a->key = EVP_EC_gen("P-256");
	a->certificate = a->key ? make_root(name, a->key) : NULL;
	a->pem = a->certificate ? to_pem(a->certificate) : NULL;
	if (!a->pem) {
		authority_free(a);
		return authority_fail(err, "make a certificate");
	}
	*ret = a;
	return 0;
}

const char *authority_pem(const struct authority *a)
{
	return a->pem;
}

int authority_certify(const struct authority *a, const char *host, SSL_CTX *context, struct err *err)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = key ? make_server_certificate(a, host, key) : NULL;
	bool ok = cert && SSL_CTX_use_certificate(context, cert) == 1 &&
		  SSL_CTX_use_PrivateKey(context, key) == 1;

	X509_free(cert);
	EVP_PKEY_free(key);
	return ok ? 0 : authority_fail(err, "make a certificate");
}

/* ---- in files ---- */

static FILE *open_private(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

static int close_written(FILE *file, bool written, const char *path, struct err *err)
{
	bool closed = fclose(file) == 0;

	return written && closed ? 0 : err_set_errno(err, errno, "cannot write '%s'", path);
}

/* The certificate comes last: where it is, the key is whole. */
static int write_files(
	const struct authority *a, const char *key_path, const char *certificate_path, struct err *err)
{
	char *part = xasprintf("%s.part", certificate_path);
	FILE *file = open_private(key_path);
	int rc = file ? 0 : err_set_errno(err, errno, "cannot write '%s'", key_path);

	if (rc == 0)
		rc = close_written(file, PEM_write_PrivateKey(file, a->key, NULL, NULL, 0, NULL, NULL) == 1,
			key_path, err);
	file = rc == 0 ? fopen(part, "we") : NULL;
	if (rc == 0)
		rc = file ? close_written(file, fputs(a->pem, file) >= 0, part, err)
			  : err_set_errno(err, errno, "cannot write '%s'", part);
	if (rc == 0 && rename(part, certificate_path))
		rc = err_set_errno(err, errno, "cannot write '%s'", certificate_path);
	free(part);
	return rc;
}

static int read_files(
	struct authority *a, const char *key_path, const char *certificate_path, struct err *err)
{
	FILE *key = fopen(key_path, "re"), *certificate = fopen(certificate_path, "re");

	if (key)
		a->key = PEM_read_PrivateKey(key, NULL, NULL, NULL);
	if (certificate)
		a->certificate = PEM_read_X509(certificate, NULL, NULL, NULL);
	if (key)
		fclose(key);
	if (certificate)
		fclose(certificate);
	if (a->key && a->certificate && X509_check_private_key(a->certificate, a->key) == 1)
		a->pem = to_pem(a->certificate);
	ERR_clear_error();
	return a->pem ? 0
		      : err_set(err, ERR_FAILED, "'%s' and '%s' are no certificate with its key",
				certificate_path, key_path);
}

int authority_keep(const char *directory, const char *name, struct authority **ret, struct err *err)
{
	char *key_path = xasprintf("%s/ca.key", directory);
	char *certificate_path = xasprintf("%s/ca.crt", directory);
	bool is_there = access(certificate_path, F_OK) == 0;
	struct authority *a = NULL;
	int rc = 0;

	if (is_there) {
		a = new_authority(name);
		rc = read_files(a, key_path, certificate_path, err);
	} else if (mkdir(directory, 0755) && errno != EEXIST) {
		rc = err_set_errno(err, errno, "cannot make '%s'", directory);
	} else {
		rc = authority_new(name, &a, err);
		if (rc == 0)
			rc = write_files(a, key_path, certificate_path, err);
	}
	free(key_path);
	free(certificate_path);
	if (rc)
		authority_free(a);
	else
		*ret = a;
	return rc;
}
