/**
 * SQL: the orders that meet the condition and are not final, which means due for fulfilment or under review. Every item
 * without an outcome belongs to one of them. Each part uses a partial index, so the rows read do not grow with the number of
 * orders.
 */
export const openOrders = (condition: string) => `
  select * from orders where ${condition} and due_at is not null
  union all
  select * from orders where ${condition} and order_status = 'UNDER_REVIEW' and due_at is null`
