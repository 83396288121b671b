# SPDX-License-Identifier: Apache-2.0
# The classifier of classifier.c in PyTorch, for comparison: classifier_test.sh counts the lines of both.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(20, 64)
        self.last = nn.Linear(64, 3)
    def forward(self, x):
        x = torch.relu(self.first(x))
        return self.last(nn.functional.dropout(x, 0.1, self.training))

torch.manual_seed(1)
x = torch.rand(512, 20) * 4 - 2
y = (x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] > 0.5).long()
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for epoch in range(20):
    for rows, labels in loader:
        loss = nn.functional.cross_entropy(model(rows), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
torch.save(model.state_dict(), "classifier.pt")
