import { ReverieError, toProtoOwner } from "@reverie/client";
import type { Command } from "commander";
import { OWNER, teach } from "../help.js";
import { memoryDetails, memoryJson } from "../output/memory.js";
import type { Runtime } from "../runtime.js";
import { notFound } from "./forget.js";

export const ID = "its id; put -- before one that begins with a dash";

export function addGet(program: Command, runtime: Runtime): void {
  const command = program
    .command("get")
    .argument("<owner>", OWNER)
    .argument("<id>", ID)
    .action((owner: string, id: string, _options: object, command: Command) =>
      runtime.online(command, async ({ client, output, call }) => {
        const request = { owner: toProtoOwner(owner), id };
        const { entry, copies } = await client.memory.getEntry(request, call).catch((error: unknown) => {
          throw error instanceof ReverieError && error.reason === "ENTRY_NOT_FOUND" ? notFound(owner, [id]) : error;
        });
        if (entry === undefined) return;
        await output.result(memoryJson(entry, copies > 1 ? { copies } : {}), memoryDetails(entry, output));
        if (copies > 1 && !output.json)
          output.note(`${copies} memories of an older file have this id; this is the newest.`);
      }),
    );
  teach(command, {
    summary: "Show one memory whole",
    examples: [
      ["get agent/ada mabc1234-x7f0qz", "all of it"],
      ["get agent/ada mabc1234-x7f0qz | jq .meta", "its meta"],
      ["get agent/ada -- -odd-id", "an id that begins with a dash"],
    ],
  });
}
