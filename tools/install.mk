# install.mk: make man, install, uninstall. PREFIX is where it will be used, DESTDIR where a packager collects it.
# Manual pages are made by the program itself; a packager that builds it for another machine names PAGES made elsewhere.
# Included by the Makefile.

PREFIX ?= /usr/local
DESTDIR ?=
PAGES ?= $(B)/man
EXTENSIONS ?= lib/kubetape
ROOT := $(DESTDIR)$(PREFIX)
DOC := $(ROOT)/share/doc/kubetape
BASH_COMPLETIONS := $(ROOT)/share/bash-completion/completions
ZSH_COMPLETIONS := $(ROOT)/share/zsh/site-functions
FISH_COMPLETIONS := $(ROOT)/share/fish/vendor_completions.d

.PHONY: man install uninstall

man: all
	rm -rf $(B)/man
	tools/man/pages.sh $(B)/kubetape $(B)/man

# bash looks up completions by the name of the command, so a plug-in that is called by its own needs a link.
install: all $(if $(filter $(B)/man,$(PAGES)),man)
	install -d $(ROOT)/bin $(ROOT)/$(EXTENSIONS) $(ROOT)/lib/systemd/system $(ROOT)/share/man/man1 \
		$(ROOT)/share/man/man5 $(DOC) $(BASH_COMPLETIONS) $(ZSH_COMPLETIONS) $(FISH_COMPLETIONS)
	install -m 755 $(B)/kubetape $(ROOT)/bin/kubetape
	ln -sf kubetape $(ROOT)/bin/kubectl-tape
	ln -sf kubetape $(ROOT)/bin/kubectl_complete-tape
	install -m 644 $(B)/kubetape.so $(ROOT)/$(EXTENSIONS)/kubetape.so
	install -m 644 $(PAGES)/man1/kubetape*.1 $(ROOT)/share/man/man1
	ln -sf kubetape.1 $(ROOT)/share/man/man1/kubectl-tape.1
	install -m 644 $(PAGES)/man5/kubetape-tape.5 $(ROOT)/share/man/man5
	install -m 644 tools/completion/kubetape.bash $(BASH_COMPLETIONS)/kubetape
	ln -sf kubetape $(BASH_COMPLETIONS)/kubectl-tape
	install -m 644 tools/completion/_kubetape $(ZSH_COMPLETIONS)/_kubetape
	install -m 644 tools/completion/kubetape.fish $(FISH_COMPLETIONS)/kubetape.fish
	sed 's|@PREFIX@|$(PREFIX)|' tools/deploy/kubetape-record.service.in >$(B)/kubetape-record.service
	install -m 644 $(B)/kubetape-record.service $(ROOT)/lib/systemd/system/kubetape-record.service
	install -m 644 LICENSE schema/FORMAT.md $(DOC)

# Folders that others use, too, stay.
uninstall:
	rm -f $(ROOT)/bin/kubetape $(ROOT)/bin/kubectl-tape $(ROOT)/bin/kubectl_complete-tape
	rm -f $(ROOT)/share/man/man1/kubetape.1 $(ROOT)/share/man/man1/kubetape-*.1 $(ROOT)/share/man/man1/kubectl-tape.1
	rm -f $(ROOT)/share/man/man5/kubetape-tape.5 $(ROOT)/lib/systemd/system/kubetape-record.service
	rm -f $(BASH_COMPLETIONS)/kubetape $(BASH_COMPLETIONS)/kubectl-tape $(ZSH_COMPLETIONS)/_kubetape
	rm -f $(FISH_COMPLETIONS)/kubetape.fish
	rm -rf $(ROOT)/$(EXTENSIONS) $(DOC)
