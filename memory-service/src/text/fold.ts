// Any character but those that NFKC leaves alone, that lower-case one to one whatever stands beside them, and that
// never combine with each other: ASCII, Latin-1 letters but ß, basic Cyrillic, quotes and dashes, kana, CJK
// ideographs, Hangul syllables.
const OTHER =
  /[^\0-\x7f\u00ab\u00bb\u00c0-\u00de\u00e0-\u00ff\u0410-\u044f\u2013\u2014\u2018-\u201e\u3001-\u3029\u3041-\u3096\u30a1-\u30fc\u4e00-\u9fff\uac00-\ud7a3]/;

// Greek iota subscripts become letters of their own, and the dot of İ goes only where it stands next to its i. Both
// are taken apart first, so that other marks stay where they belong.
const APART =
  /[\u0345\u1f80-\u1faf\u1fb2-\u1fb4\u1fb7\u1fbc\u1fc2-\u1fc4\u1fc7\u1fcc\u1ff2-\u1ff4\u1ff7\u1ffc]|\u0130\p{M}/u;

// With ß and ς, where full case folding says more than toLowerCase, of what NFKC and toLowerCase leave.
const RARE = /[\u0345\u1c80-\u1c88]/g;

const DOTTED_I = /i\u0307+/g;

const foldRare = (character: string): string => character.toUpperCase().toLowerCase();

/** `fold` of it is its toLowerCase, character by character, and what isn't ASCII stays so. */
export function foldsPlainly(text: string): boolean {
  return !OTHER.test(text);
}

/**
 * The form in which texts are compared: NFKC, full case folding (ß = ss), ς = σ, no U+0307 after i, NFKC again.
 * Two texts match when their forms do; `fold(fold(x)) === fold(x)`. Cherokee folds to its small letters, as
 * toLowerCase has it, and not to its capitals: the same texts match. ı stays apart from i.
 */
export function fold(text: string): string {
  if (foldsPlainly(text)) return text.toLowerCase();
  let form = text.normalize("NFKC");
  if (APART.test(form)) form = form.normalize("NFD");
  form = form.toLowerCase().replaceAll("ß", "ss").replaceAll("ς", "σ");
  return form.replace(RARE, foldRare).replace(DOTTED_I, "i").normalize("NFKC");
}
