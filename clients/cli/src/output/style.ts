import { styleText } from "node:util";

/** Colours of a stream, or none. */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

type Format = keyof Style;

export function createStyle(colours: boolean): Style {
  // Whether to colour is decided once, here, and not by what stdout is.
  const paint = (format: Format) => (text: string) =>
    colours ? styleText(format, text, { validateStream: false }) : text;
  return {
    bold: paint("bold"),
    dim: paint("dim"),
    red: paint("red"),
    green: paint("green"),
    yellow: paint("yellow"),
    cyan: paint("cyan"),
  };
}
