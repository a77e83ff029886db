/** What the model was asked, as far as tests look at it. */
export interface ModelRequest {
  readonly model: string;
  readonly messages: readonly {
    readonly role: string;
    readonly content: readonly Record<string, unknown>[];
  }[];
  readonly system?: unknown;
  readonly tools?: readonly { readonly name: string }[];
  readonly tool_choice?: { readonly type: string };
}
