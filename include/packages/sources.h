// sources.h - the places where package metadata is kept, one function each; package.c asks them in turn.
//
// `root` is put before every absolute path that is opened ("" in real life, a folder in tests). `path` is absolute, as
// seen inside root. All return 0 when found, 1 when not. Metadata that cannot be opened or read is as good as absent.
#ifndef NK_PACKAGES_SOURCES_H
#define NK_PACKAGES_SOURCES_H

#include "base/buf.h"
#include "base/bytes.h"
#include "packages/package.h"

#include <stdbool.h>

// As nk_package_find, below `root`.
int nk_package_find_in(const char *root, const char *path, struct nk_package *out, struct nk_err *err);

// A RECORD of a *.dist-info names the file, or it lies in an .egg folder. `installer` gets the text of INSTALLER
// ("pip", "conda", ...; "" when there is none).
int nk_packages_pip(const char *root, const char *path, struct nk_package *out, char installer[16]);
// No list names the file, but it lies in the folder of an installed package, or in a source tree with *.egg-info.
int nk_packages_folder(const char *root, const char *path, struct nk_package *out);
// A conda-meta/*.json of a prefix above names the file.
int nk_packages_conda(const char *root, const char *path, struct nk_package *out);
// The same; adds what conda would install again: "conda-forge::pytorch=2.4.1=cuda120_py311h_0", without a channel where
// it came from a server of somebody's own. Of the text of its file: it may hold anything.
int nk_packages_conda_spec(const char *root, const char *path, struct nk_buf *out);
// A /var/lib/dpkg/info/*.list names the file (also across /lib and /usr/lib).
int nk_packages_deb(const char *root, const char *path, struct nk_package *out);

// ---- shared by them

// Copies text into a field of nk_package, cut to its size; control characters become '?'.
void nk_packages_set(char *field, size_t size, struct nk_bytes text);
// "Name: value" of a header block such as METADATA or a stanza of dpkg's status: the value, trimmed. Stops at the first
// empty line. False when there is none.
bool nk_packages_header(struct nk_bytes text, const char *name, struct nk_bytes *value);
// Cuts the next line off *rest, without its line end. False at the end.
bool nk_packages_line(struct nk_bytes *rest, struct nk_bytes *line);
// True when a line of `text` is `entry`, or begins with it and a byte of `ends` follows ("," for the first field of
// CSV).
bool nk_packages_listed(struct nk_bytes text, struct nk_bytes entry, const char *ends);
// Length of the folder part of the first `length` bytes of an absolute path: of "/a/b.so" 2, of "/a" 0.
size_t nk_packages_parent(const char *path, size_t length);
bool nk_packages_ends(const char *text, const char *suffix);

// Walks the names in the folder `root` + dir[0..length). Start from {0}; the next name, or NULL at the end (then all is
// given back; a walk that is left earlier needs nk_packages_close). The name lives until the next call.
struct nk_packages_walk {
    void *stream;
    bool opened;
};
const char *nk_packages_next(struct nk_packages_walk *walk, const char *root, const char *dir, size_t length);
void nk_packages_close(struct nk_packages_walk *walk);

// The string value of `key` anywhere in JSON, the first one; escapes stay as they are. False when there is none.
bool nk_packages_json(struct nk_bytes json, const char *key, struct nk_bytes *value);
// Takes the origin from a direct_url.json (PEP 610).
void nk_packages_origin(struct nk_bytes json, struct nk_package *out);
// Takes name and version from the table [project] (or [tool.poetry]) of a pyproject.toml. 0, or 1 when there is no
// name.
int nk_packages_pyproject(struct nk_bytes text, struct nk_package *out);

// Takes Name and Version from a header block. 0, or 1 when there is no Name.
int nk_packages_metadata(struct nk_bytes text, struct nk_package *out);

#endif
