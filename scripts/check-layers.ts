// Fails when an import points against the layering that CONTRIBUTING.md describes.
import { findLayerViolations } from "./lib/layers.js";
import { root } from "./lib/repo.js";

const violations = findLayerViolations(root);
if (violations.length > 0) {
  console.error(violations.join("\n"));
  process.exitCode = 1;
}
