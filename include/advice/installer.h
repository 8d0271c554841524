// installer.h - the commands that install, remove and check packages where an interpreter finds them. The one place.
#ifndef NK_ADVICE_INSTALLER_H
#define NK_ADVICE_INSTALLER_H

#include "base/buf.h"

#include <stdbool.h>

enum nk_installer { NK_PIP, NK_UV, NK_CONDA, NK_DEBIAN, NK_INSTALLERS };

// AGAIN: the same version anew, nothing else. REMOVE asks nothing, but of Debian's.
enum nk_installing { NK_INSTALL, NK_UPGRADE, NK_AGAIN, NK_REMOVE, NK_CHECK };

// Where: borrowed texts, as a shell takes them.
struct nk_environment {
    enum nk_installer by;
    const char *python; // "~/v/bin/python"; "": python
    const char *prefix; // the folder of the environment, which conda wants; "": the one that is active
    bool user_site;     // pip --user
};

// By its name in packages/package.h: "uv", "conda", "debian"; all others are pip.
enum nk_installer nk_installer_of(const char *name);

// Appends the command up to the names of packages, which come behind it: "~/v/bin/python -m pip install --upgrade ",
// "uv pip uninstall --python ~/v/bin/python ", "conda remove --prefix ~/c ", "sudo apt-get install --reinstall ".
// NK_CHECK takes no names; conda and Debian have none of their own: pip's.
void nk_install_command(struct nk_buf *out, const struct nk_environment *where, enum nk_installing what);

#define NK_TORCH_INDEX "https://download.pytorch.org/whl/"
// The index of torch's that a build comes from: "cu121" of torch "2.4.1+cu121" where that is one that is known; "":
// PyPI.
const char *nk_install_index(const char *name, const char *version);
// Appends what pip and uv are given for a package that came from no index (packages/package.h; its path as a shell
// takes it): "\"ops @ git+https://...\"", "-e ~/src/ops". False, and nothing is added: it came from an index, or the
// place is nothing to put into a command.
bool nk_install_origin(struct nk_buf *out, const char *name, const char *origin);
// Appends what they are given for exactly that version, from where it came: "\"torch==2.4.1+cu121\" --index-url ...".
void nk_install_exactly(struct nk_buf *out, const char *name, const char *version, const char *origin);

#endif
