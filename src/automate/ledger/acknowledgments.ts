/** Acknowledgments of incidents by operators. */
export interface Acknowledgments {
  /** Records that an operator knows of an incident. Durable, and in the audit log before it takes effect. */
  acknowledgeIncident(acknowledged: {
    readonly incident: string;
    readonly account: string;
    readonly by: string;
    readonly note: string;
    /** Epoch milliseconds. */
    readonly at: number;
  }): Promise<void>;
}
