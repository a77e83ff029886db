/** A tool call that the model asks for. */
export interface ReplyCall {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** What the scripted model says in one exchange: text, then tool calls; no call ends the turn. */
export interface Reply {
  readonly text: string;
  readonly calls: readonly ReplyCall[];
}
