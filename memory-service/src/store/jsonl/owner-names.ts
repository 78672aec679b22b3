/// <reference lib="es2024.string" />

import { ReverieError } from "@reverie/service-kit/errors";
import type { OwnerKind, OwnerRef } from "../store.js";
import { errorCode, type Fs } from "./fs.js";

/** Which owners have a directory, and which names a new one may have. */
export class OwnerNames {
  /** By kind: the names there, under the form in which twins are alike. Read when first needed. */
  private readonly known = new Map<OwnerKind, Map<string, string>>();
  /** Names whose directories are being made. */
  private readonly making = new Map<string, string>();

  constructor(
    private readonly fs: Fs,
    private readonly root: string,
  ) {}

  /** OWNER_ID_INVALID for what can name no directory of its own below its kind's. */
  checkPossible({ id }: OwnerRef): void {
    if (id !== "" && id !== "." && id !== ".." && !/[/\0]/.test(id) && id.isWellFormed()) return;
    throw new ReverieError(
      "OWNER_ID_INVALID",
      "an owner's id is not empty, `.` or `..`, and holds no slash, NUL or lone surrogate",
      {
        metadata: { rule: "name" },
      },
    );
  }

  /** Makes an owner's directory, if it exists already or its name is one that a new owner may have. */
  async claim(owner: OwnerRef, make: () => Promise<void>): Promise<void> {
    // What is there may still have to be made durable.
    if (this.fs.lstatSync(`${this.root}/${owner.kind}/${owner.id}`) !== undefined) return make();
    const broken = brokenRule(owner.id);
    if (broken !== undefined) {
      throw new ReverieError("OWNER_ID_INVALID", `a new owner's id ${broken.advice}`, {
        metadata: { rule: broken.rule },
      });
    }
    const names = await this.names(owner.kind);
    // No await between the look and the claim: twins may come at once.
    const form = this.takeForm(names, owner);
    this.making.set(form, owner.id);
    try {
      await make();
    } finally {
      this.making.delete(form);
    }
  }

  /** OWNER_NAME_TWIN when another owner's name differs only in case or Unicode form. Else the name is this owner's. */
  async checkTwin(owner: OwnerRef): Promise<void> {
    this.takeForm(await this.names(owner.kind), owner);
  }

  private takeForm(names: Map<string, string>, owner: OwnerRef): string {
    const form = formOf(owner);
    const twin = this.making.get(form) ?? names.get(form);
    const isThere = (id: string): boolean => this.fs.lstatSync(`${this.root}/${owner.kind}/${id}`) !== undefined;
    if (twin !== undefined && twin !== owner.id && (this.making.has(form) || isThere(twin))) {
      throw new ReverieError(
        "OWNER_NAME_TWIN",
        "an owner exists whose id differs from this one only in case or Unicode form; use that id, or another one",
        {
          metadata: { existing: twin },
        },
      );
    }
    names.set(form, owner.id);
    return form;
  }

  /** Ids of a kind in code unit order. */
  async list(kind: OwnerKind): Promise<string[]> {
    try {
      const entries = await this.fs.readdir(`${this.root}/${kind}`);
      return entries
        .filter((entry) => entry.isDirectory())
        .map((entry) => entry.name)
        .sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    } catch (error) {
      if (errorCode(error) === "ENOENT") return [];
      throw error;
    }
  }

  private async names(kind: OwnerKind): Promise<Map<string, string>> {
    let names = this.known.get(kind);
    if (names === undefined) {
      names = new Map((await this.list(kind)).map((id) => [formOf({ kind, id }), id]));
      // Another caller may have read it meanwhile and claimed a name.
      names = this.known.get(kind) ?? names;
      this.known.set(kind, names);
    }
    return names;
  }
}

/** Names that a file system which ignores case or Unicode form would take for one. */
export function formOf({ kind, id }: OwnerRef): string {
  return `${kind}/${id.normalize("NFD").toLowerCase().normalize("NFC")}`;
}

/** Why a new owner can't have this id; the advice is read behind "a new owner's id". */
function brokenRule(id: string): { readonly rule: string; readonly advice: string } | undefined {
  if (Buffer.byteLength(id) > 255) return { rule: "size", advice: "must be at most 255 bytes of UTF-8" };
  if (id.startsWith(".")) return { rule: "dot", advice: "must have no leading dot" };
  if (/[/\\]/.test(id)) return { rule: "slash", advice: "must have no slash or backslash" };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  if (/[\u0000-\u001f\u007f-\u009f]/.test(id)) return { rule: "control", advice: "must have no control character" };
  if (id.normalize("NFC") !== id) return { rule: "nfc", advice: "must be in Unicode form NFC" };
  return undefined;
}
