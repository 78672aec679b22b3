export type Action = "none" | "cut" | "quarantine" | "adopt" | "erase" | "repair";

interface ProblemText {
  readonly severity: "problem" | "information";
  readonly action: Action;
  /** What it is and what to do. `%s` is the case's own detail. */
  readonly text: string;
}

const problem = (action: Action, text: string): ProblemText => ({ severity: "problem", action, text });
const information = (text: string, action: Action = "none"): ProblemText => ({
  severity: "information",
  action,
  text,
});

/** Everything that a check can find. The codes are stable; docs/check.md has a row for each. */
export const problems = {
  // Lines of a log.
  "torn-tail": problem(
    "cut",
    "half a line at the end. A crash leaves such of a write that was never acknowledged; if none came, something cut the file. The service moves it into the .torn file when it next opens the owner, --fix does so now",
  ),
  "bad-line": problem(
    "quarantine",
    "no readable line; it is kept, counted as corrupt and not served. --fix moves its bytes into the .quarantine file",
  ),
  "line-too-long": problem(
    "quarantine",
    "a line over 64 MiB, which is not looked at; it counts as corrupt. --fix moves its bytes into the .quarantine file",
  ),
  "stale-line": problem(
    "adopt",
    "an entry whose checksum is not its own: the disk or another program altered it, so it is not served. Look at it: --adopt serves it as it stands now and keeps the line as it was in the .quarantine file; if it is wrong, Forget its id",
  ),
  "unfinished-erase": problem(
    "erase",
    "a crash broke off a Forget or PatchMeta: the old bytes named by this line are still in the file, though not served. The service erases them when it next opens the owner, --fix does so now",
  ),
  "no-newline": information(
    "the last line is complete but for its newline, and is served. The service adds the newline when it next opens the owner, --fix does so now",
    "repair",
  ),
  "duplicate-id": problem(
    "none",
    "%s live entries have this id; the service makes no such thing, so another program copied lines. Export the owner to see them; Remember what is to stay under other ids, then Forget this id, which erases them all",
  ),
  "duplicate-legacy-id": information(
    "%s live entries have this id, as writers of before Reverie could leave it; changes act on all of them. Nothing to do",
  ),
  "foreign-range": information(
    "the bytes that this line says it replaced are not that entry's: somebody moved the file's bytes about. The range is passed over and nothing is lost; nothing to do",
  ),
  "other-kind": information(
    "the entry says it is of kind %s, but stands in this log, and is served as this log's kind. Nothing to do",
  ),
  "seq-falls": information(
    "the entry's seq is not above that of the entry before it: another program moved or copied lines. It is served; who watches may have to list again. Nothing to do",
  ),
  "seq-above-head": information(
    "a line before this head has a higher seq than the head says is the highest: another program changed the file. The highest one counts; nothing to do",
  ),

  // An owner's directory.
  "owner-unsafe": problem(
    "none",
    "an owner's directory that is a symbolic link or special file; the service refuses the owner. Put the directory itself here, or move this away",
  ),
  "log-unsafe": problem(
    "none",
    "a log that is a symbolic link or no regular file; the service refuses the owner. Put the file itself here, or move this away",
  ),
  unreadable: problem(
    "none",
    "it can't be read (%s). EACCES and EPERM: run the check as the service's user, to whom it must belong. EIO: look at the disk (dmesg, SMART), and copy the directory to another one before anything else",
  ),
  "not-mended": problem(
    "none",
    "mending broke off (%s); what was not done is reported as such, and nothing is lost. ENOSPC and EDQUOT: free some space. Then run the check again",
  ),
  "config-unreadable": problem(
    "none",
    "the owner's config can't be understood; the service refuses the owner. Mend the file, or remove it to go back to the defaults",
  ),
  leftover: information(
    "a log's new version that a crash broke off; the service removes it when it next opens the owner",
  ),
  "name-twins": information(
    "its name and %s differ only in case or Unicode form: both are served here, but on a file system that doesn't tell them apart (a copy to macOS or Windows) one would overwrite the other",
  ),
  "stray-file": information("a file where owners' directories stand; it is not looked at. Nothing to do"),

  // The data directory and its trash.
  "no-format": information(
    "no FORMAT file, so a directory of before Reverie. The service reads it as it is and writes the file at its first start",
  ),
  "no-key": information(
    "no .key file: page tokens and late retries of what was forgotten are unknown. Put it back from a backup if you have one; else the service makes a new one",
  ),
  "key-unreadable": problem(
    "none",
    "it doesn't hold 64 hexadecimal digits, and the service doesn't start. Put it back from a backup, or remove it: then page tokens and late retries of what was forgotten are unknown",
  ),
  "seq-unreadable": problem(
    "repair",
    "it doesn't hold {\"seq\":<number>}, and the service doesn't start. --fix keeps it aside in .seq.quarantine and writes the highest seq of all owners, the trash included",
  ),
  "seq-too-low": problem(
    "repair",
    "it is missing, or below the seq of an owner in the trash: an owner of that name would begin again with seqs that it had before. --fix raises it",
  ),
  "unknown-directory": information(
    "no kind of owner (agent, workflow-run, shared, user, org, peer); it is not looked at. Nothing to do",
  ),
  "trash-meta-unreadable": problem(
    "none",
    "the trash entry's meta.json is missing or can't be understood, so it can be neither listed nor restored, and is never swept. Put meta.json back (docs/storage.md, Trash), or move the directory away",
  ),
  "trash-without-payload": information(
    "the trash entry holds no owner's directory: a soft delete of an owner that had nothing, or what a crash left of a move; nothing is in it to lose. Nothing to do",
  ),
  "trash-leaving": information("its removal was broken off; the service ends it at its next start"),
} as const satisfies Record<string, ProblemText>;

export type Problem = keyof typeof problems;
