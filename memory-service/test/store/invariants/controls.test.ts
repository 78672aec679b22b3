import { powerCutCostsNothing } from "./crash-invariants.js";
import * as files from "./file-invariants.js";
import * as history from "./history-invariants.js";
import { fails } from "./holds.js";
import * as sabotage from "./sabotage.js";

// Each invariant's test, on a store that breaks it.

fails("a store that loses what it acknowledged is found", history.acknowledgedStays, sabotage.losesAppends);
fails("a Forget that erases nothing is found", history.forgottenIsGone, sabotage.erasesNothing);
fails("a refusal that writes is found", history.refusedChangesNothing, sabotage.writesRefused);
fails("files that hold more than is served are found", history.plainReaderSeesLive, sabotage.erasesNothing);
fails("a seq that is used twice is found", history.seqNeverFalls, sabotage.forgetsSeqs);
fails("an entry that no page holds is found", history.pagesReachAllOnce, sabotage.skipsBetweenPages);
fails("a search that misses is found", history.recallIsAScan, sabotage.searchesCaseSensitively);
fails("an opening that changes the file is found", history.replayIsIdempotent, sabotage.opensWithATrace);
fails("a retry that is stored again is found", history.retryRule, sabotage.takesRetriesForNew);
fails("a watch that leaves deletions out is found", history.watcherKnowsAll, sabotage.watchesNoDeletions);
fails("a store that doesn't sync is found", powerCutCostsNothing, sabotage.syncsNothing);
fails("an opening that cuts off a complete line is found", files.tornTailCostsNothing, sabotage.cutsTooMuch);
fails("an opening that deletes damaged lines is found", files.alteredLineIsKeptAside, sabotage.deletesDamagedLines);
fails("an erase that goes too far is found", files.rangeErasesItsEntryOnly, sabotage.erasesTooMuch);
fails("a cap that doesn't say what it dropped is found", files.capsDropOldest, sabotage.countsNoDrops);
fails("a copy with an altered byte is found", files.copyingChangesNothing, sabotage.copiesBadly);
fails("older lines in another order are found", files.legacyLinesStay, sabotage.turnsTiesAround);
fails("a trash that loses foreign files is found", files.trashKeepsAll, sabotage.losesForeignFiles);
fails("an owner that gets another's entries is found", files.ownersStayApart, sabotage.mixesOwners);
