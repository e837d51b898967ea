/** Remark and buttons of the program that starts the daemon, for every page. */
export interface Tour {
  readonly title: string;
  /** Text for readers who cannot press the buttons. */
  readonly readOnly: string;
  /** Things to try, with the page for each. */
  readonly steps: readonly { readonly text: string; readonly path: string }[];
  /** Buttons that have an effect now. They need the role operator. */
  buttons(): readonly { readonly id: string; readonly label: string; readonly isDanger?: true }[];
  press(id: string): void | Promise<void>;
}
