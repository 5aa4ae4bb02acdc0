# packages.mk: make deb, tarball, image ..., each into build/dist. Included by the Makefile.

DIST := build/dist
PACKAGE := tools/deploy/package
ARCH ?= $(shell dpkg --print-architecture)

.PHONY: deb tarball image staged-install krew chart gomodule wheel
VERSION = $(eval VERSION := $(shell sed -n 's/^#define KUBETAPE_VERSION *"\(.*\)"/\1/p' schema/base/version.h))$(VERSION)

# Debian packages of the architecture ARCH: amd64, or arm64 with Debian's cross compiler.
deb: man
	@tools/install-deps.sh debhelper dpkg-dev fakeroot $(if $(filter-out $(shell dpkg --print-architecture),$(ARCH)),mmdebstrap)
	$(PACKAGE)/stage.sh $(B)/kubetape $(B)/man build/deb/$(ARCH)/kubetape
	$(PACKAGE)/deb.sh build/deb/$(ARCH)/kubetape $(ARCH) $(DIST)

# What the tarball is made of.
STAGED := build/dist-root/staged
staged-install: man
	rm -rf $(STAGED)
	$(MAKE) --no-print-directory install DESTDIR=$(CURDIR)/$(STAGED) PREFIX=/usr/local

# A folder with all the libraries, for any Linux of the last years, whatever its C library is; to be unpacked anywhere.
tarball: staged-install
	$(PACKAGE)/tarball.sh $(STAGED)/usr/local $(ARCH) build/dist-root $(DIST)

# A container image as a folder in the OCI layout; `skopeo copy oci:build/dist/kubetape-VERSION-oci:VERSION docker://...` pushes it.
image: all
	$(PACKAGE)/image.py $(B)/kubetape $(ARCH) $(DIST)

# What krew installs `kubectl tape` from; the archives will be at KREW_URL.
KREW_URL ?= https://kubetape.example/releases
krew: tarball
	$(PACKAGE)/krew.sh build/dist-root/kubetape-$(VERSION)-linux-$(ARCH) $(VERSION) $(ARCH) $(KREW_URL) $(DIST)

# The chart as `helm install` takes it. (`helm package` makes the same; here a plain tar does.)
chart:
	@mkdir -p $(DIST)
	tar -C tools/deploy --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$${SOURCE_DATE_EPOCH:-$$(date +%s)}" \
		--transform 's|^chart|kubetape|' -c chart | gzip -n > $(DIST)/kubetape-chart-$(VERSION).tgz

# For tests: the Go module kubetapetest as a module proxy has it, the pytest plug-in as a wheel.
gomodule:
	$(PACKAGE)/gomodule.py tools/testing/kubetapetest $(VERSION) $(DIST)

wheel:
	@tools/install-deps.sh python3-pip python3-setuptools python3-wheel
	@rm -rf build/wheel && mkdir -p $(DIST) && cp -r tools/testing/pytest build/wheel
	/usr/bin/python3 -m pip -q wheel --no-deps --no-build-isolation -w $(DIST) build/wheel

# Uses each of them from a clean root as its user would; wants root, Debian's mirrors and ten minutes the first time.
.PHONY: packages check-packages
packages: deb tarball image krew chart gomodule wheel
	$(if $(filter amd64,$(ARCH)),$(MAKE) deb ARCH=arm64)

# Tools of others that read them, from the registries of their languages; only where the machine has none.
HELM_VERSION := v3.18.6
build/tools/helm:
	@command -v helm >/dev/null || ! command -v go >/dev/null || GOBIN=$(CURDIR)/build/tools go install helm.sh/helm/v3/cmd/helm@$(HELM_VERSION)
build/tools/venv:
	python3 -m venv $@ && $@/bin/pip -q install pyyaml check-jsonschema pytest

check-packages: packages build/tools/helm build/tools/venv
	@tools/install-deps.sh mmdebstrap lintian qemu-user-static skopeo musl-tools util-linux prometheus
	KUBETAPE_BUILD=$(B) build/tools/venv/bin/python tests/run_python.py -j $(JOBS) --folder tests/packages $(TESTS)
