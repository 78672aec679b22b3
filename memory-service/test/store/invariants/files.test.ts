import { powerCutCostsNothing } from "./crash-invariants.js";
import * as invariants from "./file-invariants.js";
import { holds } from "./holds.js";

holds("a power cut at any change of the file system costs nothing that was acknowledged", powerCutCostsNothing);
holds("a torn tail costs nothing that was acknowledged", invariants.tornTailCostsNothing);
holds(
  "an altered line is counted, not served, not deleted, and takes nothing with it",
  invariants.alteredLineIsKeptAside,
);
holds("a range erases only the entry that it names, also where bytes were moved", invariants.rangeErasesItsEntryOnly);
holds("caps drop the oldest, keep the newest, and count what they dropped", invariants.capsDropOldest);
holds("copying a log changes nothing that a reader can see", invariants.copyingChangesNothing);
holds("lines of before Reverie keep their text, members and order", invariants.legacyLinesStay);
holds("the trash gives back all of an owner, foreign files too, and to nobody else", invariants.trashKeepsAll);
holds("owners never see each other, and stay in the data directory", invariants.ownersStayApart);
