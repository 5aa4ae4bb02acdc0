# packages.mk: make deb, tarball, image ..., each into build/dist. Included by the Makefile.

DIST := build/dist
PACKAGE := tools/deploy/package
ARCH ?= $(shell dpkg --print-architecture)

.PHONY: deb tarball image staged-install

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

# Uses each of them from a clean root as its user would; wants root, Debian's mirrors and ten minutes the first time.
.PHONY: packages check-packages
packages: deb tarball image
	$(if $(filter amd64,$(ARCH)),$(MAKE) deb ARCH=arm64)

check-packages: packages
	@tools/install-deps.sh mmdebstrap lintian qemu-user-static skopeo musl-tools util-linux
	KUBETAPE_BUILD=$(B) python3 tests/run_python.py -j $(JOBS) --folder tests/packages $(TESTS)
