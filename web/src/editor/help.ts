// Where the editor looks up names: the schema, and the engine for what `narrows explain` says.
import type { Topic } from "../engine/types";
import type { Book } from "../schema";

export interface Helper {
  book(): Book | undefined;
  explain(name: string): Promise<Topic[]>;
}
