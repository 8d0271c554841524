// cmd_doctor.c - `nokernel doctor`: everything that decides whether GPU programs run in an environment.
#define _GNU_SOURCE
#include "cli/command.h"
#include "cli/recordings.h"
#include "doctor/doctor.h"
#include "doctor/saved.h"
#include "report/words.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int doctor_main(int argc, char **argv);

const struct nk_command nk_cmd_doctor = {
    .name = "doctor",
    .summary = "what keeps GPU programs from running here: driver, Python, packages, settings",
    .help = "Usage: nokernel doctor [OPTIONS]\n"
            "\n"
            "Looks at GPU, driver, runtime libraries, toolkit, Python, framework, companion packages,\n"
            "the code in their libraries, settings and caches; tells what it found, what that means\n"
            "and what to do. Nothing is imported or changed; no network.\n"
            "\n"
            "What to look at\n"
            "  --python EXE          an interpreter or the folder of an environment\n"
            "                        (else the python that runs first)\n"
            "  --gpu SM[@DRIVER],..  GPUs to compare with, instead of those of this machine:\n"
            "                        sm_120, 12.0@13.0, sm_89@535; the driver is then not asked\n"
            "  --root FOLDER         another system's files: an unpacked image, a mounted disk\n"
            "  --recordings FOLDER   recordings that may be evidence (else the state folder; none: no)\n"
            "\n"
            "A combination that works\n"
            "  --save FILE           write what is there now: GPUs, driver, Python, packages, libraries\n"
            "  --compare FILE        what changed since, and the commands that bring it back\n"
            "\n"
            "How to say it\n"
            "  --json                as JSON (schema nokernel-doctor/1)\n"
            "  --fail-on SEVERITY    end with status 4 if something is found that is at least a\n"
            "                        note, a warning or a failure\n"
            "  --paths full          do not replace the home directory by ~\n"
            "  --help                this text\n"
            "\n"
            "nokernel explain D602 tells of a finding, nokernel explain findings lists them.\n"
            "\n"
            "Exit status: 0 reported, whatever was found; 1 the output could not be written; 2 wrong\n"
            "usage; 3 the file of --compare cannot be read; 4 something is as bad as --fail-on says\n"
            "(a change since --compare counts as a warning).\n",
    .main = doctor_main,
};

enum { EXIT_GATE = 4, MOST_RECORDINGS = 32 };

struct words {
    const char *python, *gpu, *root, *recordings, *fail_on, *paths, *save, *compare;
    bool json;
};

// The command line without what only changes the output, for "how to verify".
static void spell(struct nk_buf *out, const struct words *w)
{
    const struct {
        const char *option, *value;
    } said[] = {{"--python", w->python}, {"--gpu", w->gpu}, {"--root", w->root}};
    nk_buf_text(out, "nokernel doctor");
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        if (!said[i].value) continue;
        nk_buf_format(out, " %s ", said[i].option);
        nk_words_shell(out, said[i].value, !strcmp(w->paths, "full"));
    }
}

static int severity_of(const char *word)
{
    static const char *const words[] = {"note", "warning", "failure"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(word, words[i])) return i;
    return -1;
}

static int check(const struct words *w, int operands)
{
    if (operands) return nk_cli_fail(NK_EXIT_USAGE, "doctor: it takes options only; nokernel doctor --help tells more");
    if (strcmp(w->paths, "short") && strcmp(w->paths, "full"))
        return nk_cli_fail(NK_EXIT_USAGE, "doctor: --paths %s: short or full was expected", w->paths);
    if (w->save && w->compare) return nk_cli_fail(NK_EXIT_USAGE, "doctor: either --save or --compare");
    if (w->fail_on && severity_of(w->fail_on) < 0)
        return nk_cli_fail(NK_EXIT_USAGE, "doctor: --fail-on %s: note, warning or failure was expected", w->fail_on);
    if (w->root && (*w->root != '/' || access(w->root, R_OK | X_OK)))
        return nk_cli_fail(NK_EXIT_USAGE, "doctor: --root %s: the absolute path of a folder was expected", w->root);
    return NK_EXIT_OK;
}

static void find_recordings(struct nk_recordings *list, const char *word)
{
    char folder[PATH_MAX];
    if (word && !strcmp(word, "none")) return;
    if (!word && !nk_recordings_folder(folder, sizeof folder, NULL)) word = folder;
    if (word) nk_recordings_add_newest(list, word, MOST_RECORDINGS);
}

static int write_out(const struct nk_doctor *doctor, bool json)
{
    struct nk_buf out = {0};
    if (json)
        nk_doctor_write_json(&out, doctor);
    else
        nk_doctor_write_text(&out, doctor, nk_cli_colour(STDOUT_FILENO));
    int code = out.failed ? nk_cli_fail(NK_EXIT_OUTPUT, "not enough memory for the output")
                          : nk_cli_write(STDOUT_FILENO, &out);
    nk_buf_free(&out);
    return code;
}

static int report(const struct nk_doctor *doctor, const struct words *w)
{
    int code = write_out(doctor, w->json);
    if (code || !w->fail_on) return code;
    return nk_doctor_count(doctor, (enum nk_severity)severity_of(w->fail_on)) ? EXIT_GATE : NK_EXIT_OK;
}

static int save(const struct nk_doctor *doctor, const struct words *w)
{
    struct nk_err err = {0};
    const struct nk_doctor_finding *cause = nk_doctor_cause(doctor);
    if (nk_doctor_save(doctor, w->save, &err)) return nk_cli_fail(NK_EXIT_OUTPUT, "doctor: --save %s", err.text);
    if (nk_doctor_count(doctor, NK_SEVERITY_FAILURE) && cause)
        fprintf(stderr, "nokernel: doctor: %s is written, but something fails here (%s): worth keeping is what works\n",
                w->save, nk_finding(cause->name)->code);
    return report(doctor, w);
}

static int compare(struct nk_doctor *doctor, const struct words *w)
{
    struct nk_doctor_changes changes;
    struct nk_buf out = {0};
    struct nk_err err = {0};
    if (nk_doctor_compare(doctor, w->compare, &changes, &err))
        return nk_cli_fail(NK_EXIT_INPUT, "doctor: --compare %s", err.text);
    if (w->json)
        nk_doctor_changes_json(&out, doctor, &changes);
    else
        nk_doctor_changes_text(&out, doctor, &changes, w->compare);
    int code = out.failed ? nk_cli_fail(NK_EXIT_OUTPUT, "not enough memory for the output")
                          : nk_cli_write(STDOUT_FILENO, &out);
    if (!code && changes.count && w->fail_on && severity_of(w->fail_on) <= NK_SEVERITY_WARNING) code = EXIT_GATE;
    nk_doctor_changes_free(&changes);
    nk_buf_free(&out);
    return code;
}

static int doctor_main(int argc, char **argv)
{
    struct words w = {.paths = "short"};
    const struct nk_option options[] = {{"--python", &w.python, NULL},   {"--gpu", &w.gpu, NULL},
                                        {"--root", &w.root, NULL},       {"--recordings", &w.recordings, NULL},
                                        {"--fail-on", &w.fail_on, NULL}, {"--paths", &w.paths, NULL},
                                        {"--save", &w.save, NULL},       {"--compare", &w.compare, NULL},
                                        {"--json", NULL, &w.json},       {0}};
    struct nk_doctor doctor;
    struct nk_err err = {0};
    struct nk_buf command = {0};
    struct nk_recordings recordings = {0};
    int code = nk_cli_options(&argc, argv, options, false, &nk_cmd_doctor);
    if (code) return code < 0 ? NK_EXIT_OK : code;
    if ((code = check(&w, argc - 1))) return code;
    spell(&command, &w);
    find_recordings(&recordings, w.recordings);
    const struct nk_doctor_asked asked = {.root = w.root ? w.root : "",
                                          .python = w.python,
                                          .command = command.data,
                                          .gpus = w.gpu,
                                          .recordings = (const char *const *)recordings.path,
                                          .recording_count = recordings.count,
                                          .full_paths = !strcmp(w.paths, "full")};
    if (nk_doctor_examine(&doctor, &asked, &err))
        code = nk_cli_fail(NK_EXIT_USAGE, "doctor: %s%s", w.gpu && err.code == NK_ERR_USAGE ? "--gpu " : "", err.text);
    else
        code = w.compare ? compare(&doctor, &w) : w.save ? save(&doctor, &w) : report(&doctor, &w);
    nk_doctor_free(&doctor);
    nk_recordings_free(&recordings);
    nk_buf_free(&command);
    return code;
}
