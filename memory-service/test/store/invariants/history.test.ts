import * as invariants from "./history-invariants.js";
import { holds } from "./holds.js";

holds("what was acknowledged is served as it was sent, until it is removed", invariants.acknowledgedStays);
holds("what was forgotten is not served, and its line is gone from the log", invariants.forgottenIsGone);
holds("a change that is refused, or changes nothing, writes nothing", invariants.refusedChangesNothing);
holds("a plain reader of the files sees exactly the live entries", invariants.plainReaderSeesLive);
holds("seqs are never used twice and never fall, also through clear, trash and reopening", invariants.seqNeverFalls);
holds("pages reach every entry once, by (ts, ord), in both directions", invariants.pagesReachAllOnce);
holds("recall finds what a scan of every text finds, in the same order", invariants.recallIsAScan);
holds("closing and opening again changes no answer, and the second time no byte", invariants.replayIsIdempotent);
holds(
  "the same again is the stored one, other content is refused, and what was forgotten for 24 h",
  invariants.retryRule,
);
holds("who watches and applies what comes has what a list has, or is told to list again", invariants.watcherKnowsAll);
